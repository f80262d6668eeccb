#include "study/watched_training.h"

#include <torch/torch.h>

#include "train/evaluation.h"
#include "train/schedule.h"
#include "train/sgd.h"

namespace samplenorm::study {

WatchedTraining::WatchedTraining(Study& study, train::Recipe recipe, const std::string& watched)
    : study_(study), recipe_(std::move(recipe)), set_(train::open_data(recipe_)) {
  auto options = train::model_options(recipe_, set_);
  options.make_norm = [norm = options.norm, watched](int64_t channels, bool activated) {
    return std::make_shared<WatchedNorm>(NormOptions(channels).spec(norm).relu(activated), watched);
  };
  trainee_ = std::make_shared<train::Trainee>(recipe_, set_, options);
  training_ = std::make_unique<data::Loader>(set_, train::loader_options(recipe_, true));
  trainee_->add_virtual_rows(*training_);
  trainee_->train();
  for (const auto& module : trainee_->network().named_modules())
    if (const auto norm = std::dynamic_pointer_cast<WatchedNorm>(module.value()))
      layers_.emplace_back(module.key(), norm);
}

void WatchedTraining::train() {
  train::Sgd optimizer(trainee_->network(), {recipe_.momentum, recipe_.nesterov, recipe_.weight_decay});
  const int64_t steps = training_->steps();
  for (int64_t epoch = 0; epoch < recipe_.epochs; ++epoch) {
    double sum = 0;
    for_batches(epoch, [&](const data::Batch& batch, int64_t step) {
      optimizer.clear_gradients();
      const auto loss = torch::nn::functional::cross_entropy(trainee_->forward(batch.images), batch.labels);
      loss.backward();
      optimizer.step(train::rate_at(recipe_, epoch * steps + step, steps));
      sum += loss.item<double>();
    });
    train_loss_ = sum / static_cast<double>(steps);
  }
}

void WatchedTraining::pass_epoch(int64_t epoch) {
  const torch::NoGradGuard no_gradients;
  for_batches(epoch, [&](const data::Batch& batch, int64_t) { trainee_->forward(batch.images); });
}

train::Scores WatchedTraining::test() {
  data::Loader test(set_, train::loader_options(recipe_, false));
  trainee_->eval();
  const auto forward = [this](const torch::Tensor& images) { return trainee_->forward(images); };
  const auto scores = train::score(forward, test, study_.options().stop_asked);
  trainee_->train();
  if (!scores) throw StopAsked();
  return *scores;
}

void WatchedTraining::forget() {
  for (const auto& [name, norm] : layers_) norm->forget();
}

void WatchedTraining::for_batches(int64_t epoch, const std::function<void(const data::Batch&, int64_t)>& use) {
  set_epoch(*trainee_, static_cast<uint64_t>(epoch));
  training_->begin(epoch);
  for (int64_t step = 0; const auto batch = training_->next(); ++step) {
    study_.check_stop();
    use(*batch, step);
    study_.watcher().on_progress(step + 1, training_->steps(), "batches");
  }
}

}  // namespace samplenorm::study
