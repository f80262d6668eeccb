#pragma once

// The state of a training run and what can be done with it; train() in trainer.cc puts this in order.

#include <chrono>
#include <memory>

#include "data/loader.h"
#include "train/checkpoint.h"
#include "train/sgd.h"
#include "train/state.h"
#include "train/trainee.h"
#include "train/trainer.h"

namespace samplenorm::train {

class Run {
 public:
  Run(const TrainerOptions& options, const data::DataSet& set, Listener& listener);

  /// Makes the folder, and goes to where its newest checkpoint is.
  void open_folder();

  /// Each returns false if it was asked to stop before its end.
  bool train_epoch();
  bool evaluate_epoch();

  void save_checkpoint();
  void next_epoch();

  bool done() const { return epoch_ >= recipe_.epochs; }
  int64_t steps_done() const { return epoch_ * steps_per_epoch_ + step_; }
  int64_t steps_in_all() const { return recipe_.epochs * steps_per_epoch_; }
  TrainingResult result(bool stopped) const;

 private:
  void restore_from(const Checkpoint& checkpoint);
  void train_step(const data::Batch& batch, record::StepRecord& record);
  bool checkpoint_is_due() const;
  [[noreturn]] void report_nonfinite(const data::Batch& batch, double loss);
  std::string last_checkpoint() const;

  TrainerOptions options_;
  Recipe recipe_;
  const data::DataSet& set_;
  Listener& listener_;
  std::shared_ptr<Trainee> trainee_;
  std::unique_ptr<data::Loader> training_;
  std::unique_ptr<data::Loader> test_;
  std::unique_ptr<Sgd> optimizer_;
  CheckpointFolder checkpoints_;
  std::optional<record::RunFolder> records_;

  int64_t steps_per_epoch_;
  int64_t epoch_ = 0;  // that is being trained
  int64_t step_ = 0;   // steps of it that are done
  EpochSums sums_;
  bool evaluated_ = false;  // the epoch at hand, by a run that did not come to its checkpoint
  std::chrono::steady_clock::time_point last_save_ = std::chrono::steady_clock::now();
};

}  // namespace samplenorm::train
