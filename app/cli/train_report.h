#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/progress.h"
#include "train/trainer.h"

namespace samplenorm::cli {

/// Tells people how a run goes: progress on stderr, a line for each epoch on stdout, warnings on stderr.
class TrainReport : public train::Listener {
 public:
  /// `quiet`: warnings only.
  TrainReport(int64_t epochs, bool quiet) : epochs_(epochs), quiet_(quiet) {}

  void on_begin(int64_t done, int64_t total) override;
  void on_step(const record::StepRecord& record) override;
  void on_epoch(const record::EpochRecord& record) override;
  void on_warning(const std::string& sentence) override;
  /// Takes the progress away.
  void end() { progress_.reset(); }

 private:
  int64_t epochs_;
  bool quiet_;
  int64_t first_ = 0;  // step of this process
  std::unique_ptr<Progress> progress_;
  double mean_loss_ = 0;  // that forgets, for the eye
};

/// The last and the best epoch in words. Empty where no epoch was evaluated.
std::string summary(const train::TrainingResult& result);
/// What a process sent in a step, in words.
std::string summary(const train::TrainingTraffic& traffic);
nlohmann::json to_json(const record::EpochRecord& record);
/// Of a step.
nlohmann::json to_json(const train::TrainingTraffic& traffic);

}  // namespace samplenorm::cli
