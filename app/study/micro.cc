// Fig. 9: (gradient batch, statistic batch) = (256, 4), as 64 workers with 4 images each have it, in one process.

#include <fmt/format.h>

#include "study/tasks.h"
#include "study/training_runs.h"

namespace samplenorm::study {
namespace {

constexpr int64_t kGradientBatch = 256;

struct Configuration {
  std::string norm;
  int64_t statistic_batch;
};
const std::vector<Configuration> kConfigurations{{"BN", 32}, {"BN", 4}, {"VDN-2/128", 4}, {"GN-8", 4}};

/// Group normalization looks at one image at a time, whatever the statistic batch.
bool has_statistic_batch(const std::string& norm) { return !norm.starts_with("GN") && norm != "LN"; }

}  // namespace

std::vector<Study::Task> micro_tasks(Study& study) {
  auto configurations = kConfigurations;
  if (!study.options().norms.empty()) {
    configurations.clear();
    for (const auto& norm : study.options().norms) configurations.push_back({norm, 4});
  }
  std::vector<Study::Task> tasks;
  for (const int64_t seed : seeds_of(study.options()))
    for (const auto& [norm, statistic_batch] : configurations) {
      train::Recipe recipe = base_recipe(study.options(), [](train::Recipe& own) { own.batch = kGradientBatch; });
      recipe.norm = norm;
      recipe.seed = seed;
      if (has_statistic_batch(norm)) recipe.stat_batch = statistic_batch;
      const std::string id = fmt::format("{} ({}, {}), seed {}", norm, recipe.batch, statistic_batch, seed);
      tasks.push_back({id, [&study, recipe, size = statistic_batch] {
                         auto fields = train_run(study, recipe);
                         fields["gradient_batch"] = recipe.batch;
                         fields["statistic_batch"] = size;
                         study.watcher().on_result(outcome(fields));
                         return fields;
                       }});
    }
  return tasks;
}

}  // namespace samplenorm::study
