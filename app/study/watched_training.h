#pragma once

// Training with norms that are watched: the trainer's steps without its records and checkpoints.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "study/study.h"
#include "study/watched_norm.h"
#include "train/scores.h"
#include "train/trainee.h"

namespace samplenorm::study {

class WatchedTraining {
 public:
  /// `watched`: another sample than the recipe's norm to be watched, or empty.
  WatchedTraining(Study& study, train::Recipe recipe, const std::string& watched = "");

  /// Trains for all epochs. Throws StopAsked, as all of these do.
  void train();
  /// Forward passes over an epoch in training mode only: the weights stay.
  void pass_epoch(int64_t epoch);
  /// Of the test half, with the running statistics as they are.
  train::Scores test();
  /// Of what was noted.
  void forget();

  using Layers = std::vector<std::pair<std::string, std::shared_ptr<WatchedNorm>>>;
  const Layers& layers() const { return layers_; }
  int64_t steps_per_epoch() const { return training_->steps(); }
  int64_t images() const { return set_.train->size(); }
  /// Mean loss of the last epoch that was trained.
  double train_loss() const { return train_loss_; }

 private:
  void for_batches(int64_t epoch, const std::function<void(const data::Batch&, int64_t)>& use);

  Study& study_;
  train::Recipe recipe_;
  data::DataSet set_;
  std::shared_ptr<train::Trainee> trainee_;
  std::unique_ptr<data::Loader> training_;
  Layers layers_;
  double train_loss_ = 0;
};

}  // namespace samplenorm::study
