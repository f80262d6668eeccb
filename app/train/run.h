#pragma once

// The state of a training run and what can be done with it; train() in trainer.cc puts this in order.

#include <chrono>
#include <memory>

#include "data/loader.h"
#include "train/checkpoint.h"
#include "train/gradient_buckets.h"
#include "train/processes.h"
#include "train/sgd.h"
#include "train/state.h"
#include "train/trainee.h"
#include "train/trainer.h"

namespace samplenorm::train {

class Run {
 public:
  Run(const TrainerOptions& options, const data::DataSet& set, Listener& listener);

  /// Goes to where the folder's newest checkpoint is, by rank 0's word; rank 0 makes the folder.
  void open_folder();

  /// Each returns false if it was asked to stop before its end.
  bool train_epoch();
  bool evaluate_epoch();

  void save_checkpoint();
  void next_epoch();

  bool done() const { return epoch_ >= recipe_.epochs; }
  int64_t steps_done() const { return epoch_ * steps_per_epoch_ + step_; }
  int64_t steps_in_all() const { return recipe_.epochs * steps_per_epoch_; }
  /// To be called last: it waits for all ranks.
  TrainingResult result(bool stopped);

 private:
  bool is_first() const { return processes_.rank() == 0; }
  data::Loader& whole_batches() { return whole_ ? *whole_ : *training_; }
  bool restore();
  void restore_from(const Checkpoint& checkpoint);
  void see_what_is_evaluated();
  void warn_of_other_ranks();
  StepSums train_step(const data::Batch& batch, int64_t skipped, record::StepRecord& record);
  bool is_due_by_steps() const;
  bool is_due_by_time() const;
  void share_running_statistics();
  [[noreturn]] void report_nonfinite(const data::Batch& batch, double loss);
  std::string last_checkpoint() const;

  TrainerOptions options_;
  Recipe recipe_;
  Communicator& processes_;
  const data::DataSet& set_;
  Listener& listener_;
  std::shared_ptr<Trainee> trainee_;
  std::unique_ptr<data::Loader> training_;
  std::unique_ptr<data::Loader> test_;
  std::unique_ptr<data::Loader> whole_;         // training batches; only with several processes
  std::optional<RegisteredCommunicator> sync_;  // only if statistics are pooled over them
  std::unique_ptr<GradientBuckets> gradients_;  // only with several processes
  std::unique_ptr<Sgd> optimizer_;
  CheckpointFolder checkpoints_;
  std::optional<record::RunFolder> records_;  // of rank 0

  int64_t steps_per_epoch_;
  int64_t epoch_ = 0;  // that is being trained
  int64_t step_ = 0;   // steps of it that are done
  EpochSums sums_;
  TrainingTraffic traffic_;
  bool evaluated_ = false;  // the epoch at hand, by a run that did not come to its checkpoint
  std::chrono::steady_clock::time_point last_save_ = std::chrono::steady_clock::now();
};

}  // namespace samplenorm::train
