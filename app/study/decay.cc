// Fig. 10: alpha, the weight of the newest statistics in the running ones. It has no part in training, so that each
// seed is trained once, and the running statistics are followed for every alpha.

#include <fmt/format.h>

#include "study/followed_norm.h"
#include "study/tasks.h"
#include "study/training_runs.h"
#include "train/evaluation.h"

namespace samplenorm::study {
namespace {

using nlohmann::json;

constexpr const char* kNorm = "BS-1/128";
const std::vector<double> kAlphas{0.01, 0.1, 0.3, 0.5, 0.7, 0.9};

train::Scores test(Study& study, train::Trainee& trainee, const train::Recipe& recipe, const data::DataSet& set) {
  data::Loader images(set, train::loader_options(recipe, false));
  trainee.eval();
  const auto forward = [&](const torch::Tensor& input) { return trainee.forward(input); };
  const auto scores = train::score(forward, images, study.options().stop_asked);
  if (!scores) throw StopAsked();
  return *scores;
}

/// A result for each alpha.
json results(Study& study, const std::string& id, const train::Recipe& recipe) {
  const auto set = train::open_data(recipe);
  json fields = run_fields(recipe);
  fields["images"] = set.train->size();
  return or_failed(fields, [&] {
    const auto run = train_with(
        study, recipe, set, study.work_folder(id), [norm = train::full_notation(recipe)](int64_t channels, bool relu) {
          return std::make_shared<FollowedNorm>(NormOptions(channels).spec(norm).relu(relu), kAlphas);
        });
    json all = json::array();
    for (int64_t i = 0; i < std::ssize(kAlphas); ++i) {
      const double alpha = kAlphas[static_cast<size_t>(i)];
      for (const auto& module : run.trainee->network().modules())
        if (auto* norm = dynamic_cast<FollowedNorm*>(module.get())) norm->use(i);
      const auto scores = test(study, *run.trainee, recipe, set);
      all.push_back(fields);
      all.back().update({{"id", fmt::format("{}, alpha {}, seed {}", recipe.norm, alpha, recipe.seed)},
                         {"alpha", alpha},
                         {"top1", scores.top1},
                         {"top5", scores.top5},
                         {"recalibrated_top1", nullptr},
                         {"train_loss", run.metrics.epochs.back().train_loss},
                         {"seconds", run.seconds()}});
      study.watcher().on_result(fmt::format("alpha {}: {}", alpha, outcome(all.back())));
    }
    return all;
  });
}

}  // namespace

std::vector<Study::Task> decay_tasks(Study& study) {
  std::vector<Study::Task> tasks;
  for (const int64_t seed : seeds_of(study.options()))
    for (const auto& norm : norms_or(study.options(), {kNorm})) {
      train::Recipe recipe = base_recipe(study.options());
      recipe.norm = norm;
      recipe.seed = seed;
      recipe.recalibrate = 0;
      recipe.eval_every = recipe.epochs;
      const std::string id = fmt::format("{}, seed {}", norm, seed);
      tasks.push_back(
          {.id = id, .make = [&study, id, recipe] { return results(study, id, recipe); }, .turn = 1 + seed});
    }
  return tasks;
}

}  // namespace samplenorm::study
