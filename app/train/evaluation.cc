#include "train/evaluation.h"

#include <torch/torch.h>

#include "train/precision.h"
#include "train/recalibrate.h"
#include "train/trained.h"

namespace samplenorm::train {
namespace {

std::shared_ptr<models::Network> recalibrate(const Trainee& trainee, const Recipe& recipe, const data::DataSet& set,
                                             int64_t epoch, data::Loader& training) {
  training.begin(epoch);
  int64_t taken = 0;
  const auto next = [&]() -> std::optional<torch::Tensor> {
    if (taken++ == recipe.recalibrate) return {};
    auto batch = training.next();
    return batch ? std::optional(batch->images) : std::nullopt;
  };
  return recalibrated(trainee.network(), recipe.model, model_options(recipe, set), recipe.precision, next);
}

}  // namespace

data::LoaderOptions loader_options(const Recipe& recipe, bool training, int rank, int ranks) {
  data::LoaderOptions options;
  options.batch = recipe.batch;
  options.workers = static_cast<int>(recipe.workers);
  options.seed = static_cast<uint64_t>(recipe.seed);
  options.training = training;
  options.rank = rank;
  options.ranks = ranks;
  return options;
}

std::optional<Evaluation> evaluate_trainee(Trainee& trainee, const Recipe& recipe, int64_t epoch,
                                           const EvaluationInputs& inputs) {
  trainee.eval();
  const auto score_of = [&](const auto& forward) {
    return score(forward, inputs.test, inputs.stop_asked, inputs.communicator);
  };
  const auto scores = score_of([&](const torch::Tensor& images) { return trainee.forward(images); });
  if (!scores) return {};
  Evaluation evaluation{*scores, {}};
  if (recipe.recalibrate == 0) return evaluation;

  const auto exact = recalibrate(trainee, recipe, inputs.set, epoch, inputs.training);
  if (exact == nullptr) {  // no running statistics to recompute
    evaluation.recalibrated = scores;
    return evaluation;
  }
  evaluation.recalibrated = score_of([&](const torch::Tensor& images) {
    const PrecisionGuard guard(recipe.precision);
    return exact->forward(images).to(torch::kFloat);
  });
  if (!evaluation.recalibrated) return {};
  return evaluation;
}

Evaluation evaluate_checkpoint(const Checkpoint& checkpoint, const Recipe& recipe, const data::DataSet& set,
                               const std::string& where) {
  const auto trainee = trainee_of(checkpoint, recipe, set, where);
  data::Loader training(set, loader_options(recipe, true));
  data::Loader test(set, loader_options(recipe, false));
  return *evaluate_trainee(*trainee, recipe, last_epoch(checkpoint), {.set = set, .training = training, .test = test});
}

}  // namespace samplenorm::train
