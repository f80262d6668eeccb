#pragma once

// One run = one folder: recipe.json, metrics.jsonl (a line each step and each epoch) and TensorBoard's event file.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace samplenorm::record {

/// A training step.
struct StepRecord {
  int64_t epoch = 0;  ///< from 0
  int64_t step = 0;   ///< of the whole run, from 0
  double loss = 0;
  double rate = 0;            ///< learning rate
  double seconds = 0;         ///< of the step, waiting included
  double waited_seconds = 0;  ///< for data
};

/// An epoch, after its evaluation. top-1 and top-5 are parts of 1.
struct EpochRecord {
  int64_t epoch = 0;
  int64_t step = 0;  ///< steps of the run that are done
  double train_loss = 0;
  double train_top1 = 0;
  double test_loss = 0;
  double test_top1 = 0;
  double test_top5 = 0;
  /// With running statistics that were recomputed exactly.
  std::optional<double> recalibrated_top1;
  std::optional<double> recalibrated_top5;
  double seconds = 0;
  double waited_seconds = 0;
  int64_t skipped_images = 0;
};

/// Writes a run's records. What was written is on disk after every epoch.
class RunFolder {
 public:
  /// Makes the folder. `steps_done`: a resumed run; later lines are taken away, and the rest is kept, but for damaged
  /// lines: warn(sentence) is called if there are any. Nothing: a new run, whose records take the place of those of an
  /// earlier run in the same folder. Throws Error, as all of these do.
  RunFolder(
      std::filesystem::path folder, std::optional<int64_t> steps_done,
      const std::function<void(const std::string&)>& warn = [](const std::string&) {});
  ~RunFolder();

  /// The resolved recipe and what else describes the run, as JSON text; written beside and renamed.
  void write_recipe(const std::string& json);
  void add(const StepRecord& record);
  void add(const EpochRecord& record);
  /// What was written is on disk when it returns; to be called before a checkpoint that counts on it.
  void flush();

  const std::filesystem::path& path() const;

 private:
  class Files;
  std::unique_ptr<Files> files_;
};

/// What a run's metrics.jsonl holds. Throws Error with the number of the line that is wrong.
struct RunMetrics {
  std::vector<StepRecord> steps;
  std::vector<EpochRecord> epochs;
};
RunMetrics read_metrics(const std::filesystem::path& folder);

}  // namespace samplenorm::record
