#pragma once

// One contender of the demo: a network with its norm, its optimizer, its losses and its times.

#include <string>
#include <vector>

#include "train/sgd.h"
#include "train/trainee.h"

namespace samplenorm::cli {

class Learner {
 public:
  /// Learners of one seed begin with the same weights.
  Learner(const train::Recipe& recipe, const data::DataSet& set, data::Loader& training);

  void begin_epoch(int64_t epoch);
  /// One training step at a learning rate; keeps its loss and its time.
  void step(const data::Batch& batch, double rate);
  /// The part of the test images that it puts into the right class. Leaves the network in evaluation mode.
  double accuracy(data::Loader& test);

  const std::string& norm_name() const { return norm_name_; }
  const std::vector<double>& losses() const { return losses_; }
  /// Of forward, backward and update.
  const std::vector<double>& step_seconds() const { return step_seconds_; }

 private:
  std::string norm_name_;
  std::shared_ptr<train::Trainee> trainee_;
  train::Sgd optimizer_;
  std::vector<double> losses_;
  std::vector<double> step_seconds_;
};

}  // namespace samplenorm::cli
