#include "cli/learner.h"

#include <torch/torch.h>

#include "bench/stopwatch.h"
#include "samplenorm/norm.h"
#include "train/scores.h"

namespace samplenorm::cli {

Learner::Learner(const train::Recipe& recipe, const data::DataSet& set, data::Loader& training)
    : norm_name_(recipe.norm),
      trainee_(std::make_shared<train::Trainee>(recipe, set)),
      optimizer_(trainee_->network(), {recipe.momentum, recipe.nesterov, recipe.weight_decay}) {
  trainee_->add_virtual_rows(training);
  trainee_->train();
}

void Learner::begin_epoch(int64_t epoch) { set_epoch(*trainee_, static_cast<uint64_t>(epoch)); }

void Learner::step(const data::Batch& batch, double rate) {
  const bench::Stopwatch watch;
  optimizer_.clear_gradients();
  const auto loss = torch::nn::functional::cross_entropy(trainee_->forward(batch.images), batch.labels);
  loss.backward();
  optimizer_.step(rate);
  losses_.push_back(loss.item<double>());
  step_seconds_.push_back(watch.seconds());
}

double Learner::accuracy(data::Loader& test) {
  trainee_->eval();
  const auto forward = [this](const torch::Tensor& images) { return trainee_->forward(images); };
  return train::score(forward, test, [] { return false; })->top1;
}

}  // namespace samplenorm::cli
