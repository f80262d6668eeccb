// Fig. 10: alpha, the weight of the newest statistics in the running ones. It has no part in training: only the running
// statistics with which the network is evaluated differ.

#include <fmt/format.h>

#include "study/tasks.h"
#include "study/training_runs.h"

namespace samplenorm::study {
namespace {

constexpr const char* kNorm = "BS-1/128";
constexpr double kAlphas[] = {0.01, 0.1, 0.3, 0.5, 0.7, 0.9};

}  // namespace

std::vector<Study::Task> decay_tasks(Study& study) {
  std::vector<Study::Task> tasks;
  for (const int64_t seed : seeds_of(study.options()))
    for (const auto& norm : norms_or(study.options(), {kNorm}))
      for (const double alpha : kAlphas) {
        train::Recipe recipe = base_recipe(study.options());
        // The paper's start too: the first batch's statistics, so that a small alpha has nothing to forget.
        recipe.norm = fmt::format("{};decay={};first=batch", norm, alpha);
        recipe.seed = seed;
        tasks.push_back({fmt::format("{}, alpha {}, seed {}", norm, alpha, seed), [&study, recipe, norm, alpha] {
                           auto fields = train_run(study, recipe);
                           fields["norm"] = norm;
                           fields["alpha"] = alpha;
                           study.watcher().on_result(outcome(fields));
                           return fields;
                         }});
      }
  return tasks;
}

}  // namespace samplenorm::study
