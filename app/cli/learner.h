#pragma once

// One contender of the demo: a network with its norm, its virtual rows if the norm wants any, and its optimizer.

#include <torch/nn/module.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <string>
#include <vector>

#include "models/small_convnet.h"
#include "samplenorm/virtual_batch.h"

namespace samplenorm::cli {

class Learner : public torch::nn::Module {
 public:
  /// Learners of one seed begin with the same weights. `typical_images`: normalized inputs that virtual rows resemble.
  Learner(const std::string& norm, int64_t classes, uint64_t seed, const torch::Tensor& typical_images);

  /// One training step at a learning rate; keeps its loss and its time.
  void step(const torch::Tensor& images, const torch::Tensor& labels, double rate);

  /// The part of the images that it puts into the right class. Leaves the learner in evaluation mode.
  double accuracy(const torch::Tensor& images, const torch::Tensor& labels);

  const std::string& norm_name() const { return norm_name_; }
  const std::vector<double>& losses() const { return losses_; }
  /// Of forward, backward and update.
  const std::vector<double>& step_seconds() const { return step_seconds_; }

 private:
  void add_virtual_batch(const torch::Tensor& typical_images);
  torch::Tensor forward(const torch::Tensor& images);

  std::string norm_name_;
  models::SmallConvNet network_{nullptr};
  VirtualBatch virtual_batch_{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer_;
  std::vector<double> losses_;
  std::vector<double> step_seconds_;
};

}  // namespace samplenorm::cli
