#include "record/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "record/event_file.h"
#include "record/metrics_file.h"
#include "record/output_file.h"
#include "samplenorm/error.h"

namespace samplenorm::record {
namespace {

constexpr const char* kMetrics = "metrics.jsonl";
constexpr const char* kRecipe = "recipe.json";

using Warn = std::function<void(const std::string&)>;

/// The whole lines of a file. One warning, however many lines are damaged.
std::vector<Record> undamaged_lines(const std::filesystem::path& file, const Warn& warn) {
  std::string first;
  int64_t damaged = 0;
  auto records = read_metrics_file(file, [&](const std::string& problem) {
    if (damaged++ == 0) first = problem;
  });
  if (damaged == 1) warn(first + "; this damaged line is left out");
  if (damaged > 1) warn(fmt::format("{}; this damaged line and {} more are left out", first, damaged - 1));
  return records;
}

/// Leaves only what the first `steps_done` steps wrote; everything goes if this is not a resumed run.
void prepare_metrics(const std::filesystem::path& file, std::optional<int64_t> steps_done, const Warn& warn) {
  std::string kept;
  if (steps_done && std::filesystem::exists(file)) {
    for (const Record& record : undamaged_lines(file, warn)) {
      if (is_within(record, *steps_done)) kept += to_line(record) + '\n';
    }
  }
  AtomicFile output(file);
  output.write(kept);
  output.commit();
}

void remove_event_files(const std::filesystem::path& folder) {
  for (const auto& file : event_files(folder)) {
    std::error_code code;
    if (!std::filesystem::remove(file, code)) {
      throw Error(fmt::format("cannot remove {} of an earlier run: {}", file.string(), code.message()));
    }
  }
}

}  // namespace

class RunFolder::Files {
 public:
  Files(std::filesystem::path folder, std::optional<int64_t> steps_done, const Warn& warn)
      : folder_(prepared(std::move(folder), steps_done, warn)),
        metrics_(folder_ / kMetrics, OutputFile::Mode::kAppend),
        events_(folder_, steps_done) {
    sync_folder(folder_);
  }

  void add(int64_t event_step, const Record& record, const std::vector<Scalar>& scalars) {
    metrics_.write(to_line(record) + '\n');
    events_.add(event_step, scalars);
  }

  void sync() {
    metrics_.sync();
    events_.sync();
  }

  const std::filesystem::path& folder() const { return folder_; }

 private:
  static std::filesystem::path prepared(std::filesystem::path folder, std::optional<int64_t> steps_done,
                                        const Warn& warn) {
    make_folder(folder);
    prepare_metrics(folder / kMetrics, steps_done, warn);
    if (!steps_done) remove_event_files(folder);
    return folder;
  }

  std::filesystem::path folder_;
  OutputFile metrics_;
  EventFile events_;
};

RunFolder::RunFolder(std::filesystem::path folder, std::optional<int64_t> steps_done, const Warn& warn)
    : files_(std::make_unique<Files>(std::move(folder), steps_done, warn)) {}

RunFolder::~RunFolder() = default;

void RunFolder::write_recipe(const std::string& json) {
  const auto file = files_->folder() / kRecipe;
  if (!nlohmann::json::accept(json)) {
    throw Error(fmt::format("cannot write {}: expected a recipe of JSON, found what is not", file.string()));
  }
  AtomicFile output(file);
  output.write(json.ends_with('\n') ? json : json + '\n');
  output.commit();
}

void RunFolder::add(const StepRecord& record) {
  files_->add(record.step, record,
              {{"train/loss", record.loss},
               {"train/rate", record.rate},
               {"train/step_seconds", record.seconds},
               {"train/step_waited_seconds", record.waited_seconds}});
}

void RunFolder::add(const EpochRecord& record) {
  std::vector<Scalar> scalars = {
      {"train/epoch_loss", record.train_loss}, {"train/top1", record.train_top1},
      {"train/epoch_seconds", record.seconds}, {"train/epoch_waited_seconds", record.waited_seconds},
      {"test/loss", record.test_loss},         {"test/top1", record.test_top1},
      {"test/top5", record.test_top5}};
  if (record.recalibrated_top1) scalars.emplace_back("test/recalibrated_top1", *record.recalibrated_top1);
  if (record.recalibrated_top5) scalars.emplace_back("test/recalibrated_top5", *record.recalibrated_top5);
  // At the epoch's last step, or a run that is resumed at the next one would take the epoch's points away.
  files_->add(std::max<int64_t>(record.step - 1, 0), record, scalars);
  flush();
}

void RunFolder::flush() { files_->sync(); }

const std::filesystem::path& RunFolder::path() const { return files_->folder(); }

RunMetrics read_metrics(const std::filesystem::path& folder) {
  RunMetrics metrics;
  for (const Record& record : read_metrics_file(folder / kMetrics)) {
    if (const auto* step = std::get_if<StepRecord>(&record)) {
      metrics.steps.push_back(*step);
    } else {
      metrics.epochs.push_back(std::get<EpochRecord>(record));
    }
  }
  return metrics;
}

}  // namespace samplenorm::record
