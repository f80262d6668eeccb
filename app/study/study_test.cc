#include "study/study.h"

#include <gtest/gtest.h>

#include "record/test_folder.h"
#include "study/training_runs.h"

namespace samplenorm::study {
namespace {

using StudyTest = record::TestFolder;
using nlohmann::json;

/// Counts what is begun, and says what was said.
class Ear : public Watcher {
 public:
  void on_task(const std::string& name, size_t, size_t) override { begun.push_back(name); }
  std::vector<std::string> begun;
};

StudyOptions tiny(const std::filesystem::path& folder) {
  StudyOptions options;
  options.folder = folder;
  options.data = "synthetic";
  options.recipe = {{"model", "small"}, {"limit", "64"}, {"epochs", "1"}, {"batch", "32"}, {"recalibrate", "1"}};
  return options;
}

TEST_F(StudyTest, ResultsThatAreThereAreNotMadeAgain) {
  Ear ear;
  const std::vector<Study::Task> tasks{{"a",
                                        [] {
                                          return json{{"value", 1}};
                                        }},
                                       {"b", [] {
                                          return json{{"value", 2}};
                                        }}};
  EXPECT_TRUE(Study("x", tiny(folder_), ear).run({tasks[0]}));
  EXPECT_TRUE(Study("x", tiny(folder_), ear).run(tasks));
  EXPECT_EQ(ear.begun, (std::vector<std::string>{"a", "b"}));
  const auto records = record::read_study(folder_ / "x.jsonl");
  ASSERT_EQ(records.results.size(), 2u);
  EXPECT_EQ(records.results[1].fields["value"], 2);
}

TEST_F(StudyTest, AStopLeavesTheResultsThatAreDone) {
  Ear ear;
  auto options = tiny(folder_);
  bool stop = false;
  options.stop_asked = [&] { return stop; };
  Study study("x", options, ear);
  EXPECT_FALSE(study.run({{"a", [&] { return stop = true, json::object(); }}, {"b", [] { return json::object(); }}}));
  EXPECT_EQ(record::read_study(folder_ / "x.jsonl").results.size(), 1u);
}

TEST_F(StudyTest, ARunThatIsDoneIsNotTrainedAgain) {
  Ear ear;
  Study study("x", tiny(folder_), ear);
  const auto recipe = base_recipe(study.options());
  const auto first = train_run(study, recipe, folder_ / "run");
  EXPECT_EQ(first["images"], 64);
  EXPECT_EQ(first["norm"], recipe.norm);
  EXPECT_GE(first["top1"].get<double>(), 0);
  EXPECT_FALSE(first["recalibrated_top1"].is_null());
  EXPECT_EQ(train_run(study, recipe, folder_ / "run"), first);  // the times too
}

TEST_F(StudyTest, ALossThatIsNotFiniteIsAResult) {
  Ear ear;
  auto options = tiny(folder_);
  options.recipe.emplace_back("rate", "1e30");
  options.recipe.emplace_back("limit", "320");
  options.recipe.emplace_back("norm", "none");
  Study study("x", options, ear);
  const auto fields = train_run(study, base_recipe(options), folder_ / "run");
  ASSERT_TRUE(fields.contains("failed")) << fields;
  EXPECT_NE(fields["failed"].get<std::string>().find("step"), std::string::npos);
  EXPECT_NE(outcome(fields).find("broke off"), std::string::npos);
}

TEST(TrainingRuns, CountSampledPointsAsThePaperDoes) {
  EXPECT_DOUBLE_EQ(nominal_sampled("BN"), 1);
  EXPECT_DOUBLE_EQ(nominal_sampled("GN-8"), 1);
  EXPECT_DOUBLE_EQ(nominal_sampled("BS-4/128"), 1.0 / 32);
  EXPECT_DOUBLE_EQ(nominal_sampled("FS-1/64+VDN-2/128"), 4.0 / 128);
}

TEST(TrainingRuns, OfFullScaleArePapers) {
  StudyOptions options;
  options.scale = Scale::kFull;
  EXPECT_EQ(base_recipe(options).epochs, 130);
  EXPECT_EQ(base_recipe(options).model, "resnet56");
  EXPECT_EQ(seeds_of(options).size(), 5u);
  options.data = "folder";
  EXPECT_EQ(base_recipe(options).epochs, 100);
  EXPECT_EQ(base_recipe(options).model, "resnet18");
  EXPECT_EQ(seeds_of(options).size(), 1u);
}

TEST(Studies, AreTheEightOfTheDesign) {
  std::vector<std::string> names;
  for (const auto& info : studies()) names.emplace_back(info.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"cost", "accuracy", "curves", "error", "speed", "regularity", "decay", "micro"}));
  record::expect_error([] { find_study("speeds"); }, {"speeds", "cost", "micro"});
}

}  // namespace
}  // namespace samplenorm::study
