// Fig. 10: alpha, the weight of the newest statistics in the running ones. It has no part in training, so that each
// seed is trained once, with the statistics of every step kept; the running ones follow from them for every alpha.

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/stopwatch.h"
#include "study/tasks.h"
#include "study/training_runs.h"
#include "study/watched_training.h"

namespace samplenorm::study {
namespace {

using nlohmann::json;

constexpr const char* kNorm = "BS-1/128";
constexpr double kAlphas[] = {0.01, 0.1, 0.3, 0.5, 0.7, 0.9};

/// As the paper has it: the first step's value to begin with.
torch::Tensor moving_average(const std::vector<torch::Tensor>& values, double alpha) {
  torch::Tensor average = values.front();
  for (size_t i = 1; i < values.size(); ++i) average = alpha * values[i] + (1 - alpha) * average;
  return average;
}

/// A seed's training, when it is first asked for.
struct Seed {
  train::Recipe recipe;
  std::unique_ptr<WatchedTraining> training = nullptr;
  double seconds = 0;

  WatchedTraining& trained(Study& study) {
    if (!training) {
      const bench::Stopwatch watch;
      auto fresh = std::make_unique<WatchedTraining>(study, recipe);
      fresh->train();
      training = std::move(fresh);
      seconds = watch.seconds();
    }
    return *training;
  }
};

json with_alpha(Study& study, Seed& seed, double alpha) {
  auto& training = seed.trained(study);
  for (const auto& [name, norm] : training.layers())
    norm->set_running_statistics(moving_average(norm->means, alpha), moving_average(norm->variances, alpha));
  const auto scores = training.test();
  const auto& recipe = seed.recipe;
  json fields = run_fields(recipe);
  fields["images"] = training.images();
  fields.update({{"alpha", alpha},
                 {"top1", scores.top1},
                 {"top5", scores.top5},
                 {"recalibrated_top1", nullptr},
                 {"train_loss", training.train_loss()},
                 {"seconds", seed.seconds}});
  study.watcher().on_result(outcome(fields));
  return fields;
}

}  // namespace

std::vector<Study::Task> decay_tasks(Study& study) {
  std::vector<Study::Task> tasks;
  for (const int64_t number : seeds_of(study.options()))
    for (const auto& norm : norms_or(study.options(), {kNorm})) {
      const auto seed = std::make_shared<Seed>(Seed{base_recipe(study.options())});
      seed->recipe.norm = norm;
      seed->recipe.seed = number;
      for (const double alpha : kAlphas)
        tasks.push_back({fmt::format("{}, alpha {}, seed {}", norm, alpha, number),
                         [&study, seed, alpha] { return with_alpha(study, *seed, alpha); }});
    }
  return tasks;
}

}  // namespace samplenorm::study
