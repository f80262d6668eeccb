#include "record/run_folder.h"

#include <cmath>
#include <limits>

#include "record/event_file.h"
#include "record/test_folder.h"

namespace samplenorm::record {
namespace {

using RunFolderTest = TestFolder;

constexpr int64_t kStepsInEpoch = 4;

StepRecord step_record(int64_t step) {
  return {.epoch = step / kStepsInEpoch,
          .step = step,
          .loss = 2.0 - 0.125 * static_cast<double>(step),
          .rate = 0.5,
          .seconds = 0.25,
          .waited_seconds = 0.0625};
}

EpochRecord epoch_record(int64_t epoch) {
  EpochRecord record;
  record.epoch = epoch;
  record.step = (epoch + 1) * kStepsInEpoch;
  record.test_top1 = 0.25 * static_cast<double>(epoch + 1);
  return record;
}

/// Steps [begin, end) and the epochs that end in them.
void train(RunFolder& run, int64_t begin, int64_t end) {
  for (int64_t step = begin; step < end; ++step) {
    run.add(step_record(step));
    if ((step + 1) % kStepsInEpoch == 0) run.add(epoch_record(step / kStepsInEpoch));
  }
}

std::vector<int64_t> steps_of(const RunMetrics& metrics) {
  std::vector<int64_t> steps;
  for (const auto& record : metrics.steps) steps.push_back(record.step);
  return steps;
}

TEST_F(RunFolderTest, MakesItsFolderAndReadsBackWhatWasAdded) {
  const auto folder = folder_ / "runs" / "first";
  RunFolder run(folder, std::nullopt);
  EXPECT_EQ(run.path(), folder);
  train(run, 0, 6);
  const RunMetrics metrics = read_metrics(folder);
  EXPECT_EQ(steps_of(metrics), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(metrics.steps[5].loss, step_record(5).loss);
  ASSERT_EQ(metrics.epochs.size(), 1u);
  EXPECT_EQ(metrics.epochs[0].test_top1, 0.25);
}

// app/record/event_file_test.py lets TensorBoard read what this writes.
TEST_F(RunFolderTest, AResumedRunGoesOnAsIfItHadNotStopped) {
  {
    RunFolder run(folder_, std::nullopt);
    train(run, 0, 11);
  }
  const std::string killed = content_of(folder_ / "metrics.jsonl");
  {
    RunFolder run(folder_, kStepsInEpoch);  // the last checkpoint was after the first epoch
    const RunMetrics kept = read_metrics(folder_);
    EXPECT_EQ(steps_of(kept), (std::vector<int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(kept.epochs.size(), 1u);
    train(run, kStepsInEpoch, 11);
  }
  EXPECT_EQ(content_of(folder_ / "metrics.jsonl"), killed);
  EXPECT_EQ(event_files(folder_).size(), 2u);
}

TEST_F(RunFolderTest, ResumingWithinAnEpochKeepsThatEpochsSteps) {
  {
    RunFolder run(folder_, std::nullopt);
    train(run, 0, 9);
  }
  RunFolder run(folder_, 6);
  const RunMetrics kept = read_metrics(folder_);
  EXPECT_EQ(steps_of(kept), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(kept.epochs.size(), 1u);
}

TEST_F(RunFolderTest, ANewRunReplacesTheRecordsOfAnEarlierOne) {
  {
    RunFolder run(folder_, std::nullopt);
    train(run, 0, 9);
  }
  RunFolder run(folder_, std::nullopt);
  train(run, 0, 1);
  EXPECT_EQ(read_metrics(folder_).steps.size(), 1u);
  EXPECT_EQ(event_files(folder_).size(), 1u);
}

TEST_F(RunFolderTest, ALineThatWasNotFinishedIsLeftOut) {
  {
    RunFolder run(folder_, std::nullopt);
    train(run, 0, 3);
  }
  const auto file = folder_ / "metrics.jsonl";
  const std::string whole = content_of(file);
  const size_t last_line = whole.rfind('\n', whole.size() - 2) + 1;
  for (const size_t size : {last_line + 1, last_line + 20, whole.size() - 1}) {
    write_content(file, whole.substr(0, size));
    EXPECT_EQ(steps_of(read_metrics(folder_)), (std::vector<int64_t>{0, 1}));
    RunFolder resumed(folder_, 3);
    EXPECT_EQ(content_of(file), whole.substr(0, last_line));
  }
}

TEST_F(RunFolderTest, ResumesWithoutMetrics) {
  RunFolder run(folder_, 5);
  EXPECT_TRUE(read_metrics(folder_).steps.empty());
}

TEST_F(RunFolderTest, NamesTheFileAndTheNumberOfAWrongLine) {
  {
    RunFolder run(folder_, std::nullopt);
    train(run, 0, 3);
  }
  const auto file = folder_ / "metrics.jsonl";
  std::string content = content_of(file);
  content.insert(content.find('\n') + 1, "{\"kind\":\"stop\"}\n");
  write_content(file, content);
  expect_error([&] { read_metrics(folder_); }, {file.string() + ":2:", "\"stop\""});
  EXPECT_EQ(content_of(file), content);
}

TEST_F(RunFolderTest, AResumedRunLosesOnlyDamagedLines) {
  {
    RunFolder run(folder_, std::nullopt);
    train(run, 0, 7);
  }
  const auto file = folder_ / "metrics.jsonl";
  const std::string whole = content_of(file);
  const auto resume = [&](const std::string& content) {
    write_content(file, content);
    std::vector<std::string> warnings;
    const RunFolder run(folder_, 6, [&](const std::string& warning) { warnings.push_back(warning); });
    return warnings;
  };
  EXPECT_TRUE(resume(whole).empty());
  const std::string kept = content_of(file);
  const size_t second = whole.find('\n') + 1, third = whole.find('\n', second) + 1;

  std::string damaged = whole;
  damaged[second + 10] = '\0';
  auto warnings = resume(damaged);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].find(file.string() + ":2: "), 0u) << warnings[0];
  EXPECT_NE(warnings[0].find("this damaged line is left out"), std::string::npos) << warnings[0];
  EXPECT_EQ(content_of(file), kept.substr(0, second) + kept.substr(third));

  damaged[0] = 'x';
  warnings = resume(damaged);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("this damaged line and 1 more are left out"), std::string::npos) << warnings[0];
  EXPECT_EQ(content_of(file), kept.substr(third));
}

TEST_F(RunFolderTest, ALossThatIsNotANumberComesBackAsNan) {
  RunFolder run(folder_, std::nullopt);
  StepRecord record = step_record(0);
  record.loss = std::numeric_limits<double>::infinity();
  run.add(record);
  EXPECT_TRUE(std::isnan(read_metrics(folder_).steps.at(0).loss));
}

TEST_F(RunFolderTest, TheRecipeIsReplacedWhole) {
  RunFolder run(folder_, std::nullopt);
  run.write_recipe(R"({"epochs": 1})");
  run.write_recipe(R"({"epochs": 2})");
  EXPECT_EQ(content_of(folder_ / "recipe.json"), "{\"epochs\": 2}\n");
  expect_error([&] { run.write_recipe("{"); }, {(folder_ / "recipe.json").string(), "JSON"});
  EXPECT_EQ(content_of(folder_ / "recipe.json"), "{\"epochs\": 2}\n");
}

TEST_F(RunFolderTest, NamesWhatIsMissingOrInTheWay) {
  expect_error([&] { read_metrics(folder_ / "none"); }, {(folder_ / "none" / "metrics.jsonl").string()});
  write_content(folder_ / "file", "");
  expect_error([&] { RunFolder(folder_ / "file", std::nullopt); }, {(folder_ / "file").string()});
}

TEST_F(RunFolderTest, AFullDiskIsOneSentenceAndKeepsTheLinesBefore) {
  RunFolder run(folder_, std::nullopt);
  train(run, 0, 2);
  {
    const FullDisk disk(content_of(folder_ / "metrics.jsonl").size() + 10);
    expect_error([&] { train(run, 2, 3); }, {"cannot write", "metrics.jsonl"});
  }
  EXPECT_EQ(read_metrics(folder_).steps.size(), 2u);
}

}  // namespace
}  // namespace samplenorm::record
