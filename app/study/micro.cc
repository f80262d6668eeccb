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
/// With our own beside the paper's, and all of them at both statistic batches.
const std::vector<Configuration> kMicroStandard{{"BN", 32},
                                                {"BN", 4},
                                                {"VDN-2/128", 4},
                                                {"GN-8", 4},
                                                {"LS-1/64", 4},
                                                {"LS-1/64", 32},
                                                {"VDN-2/128", 32},
                                                {"LS-1/64+VDN-2/128", 4},
                                                {"LS-1/64+VDN-2/128", 32}};

/// Group normalization looks at one image at a time, whatever the statistic batch.
bool has_statistic_batch(const std::string& norm) { return !norm.starts_with("GN") && norm != "LN"; }

}  // namespace

std::vector<Study::Task> micro_tasks(Study& study) {
  const auto& options = study.options();
  auto configurations = options.scale == Scale::kStandard ? kMicroStandard : kConfigurations;
  if (!options.norms.empty()) {
    configurations.clear();
    for (const auto& norm : options.norms) configurations.push_back({norm, 4});
  }
  std::vector<TunedRun> runs;
  for (const auto& [norm, statistic_batch] : configurations) {
    train::Recipe recipe = base_recipe(options, [](train::Recipe& own) { own.batch = kGradientBatch; });
    recipe.norm = norm;
    if (has_statistic_batch(norm)) recipe.stat_batch = statistic_batch;
    runs.push_back({.name = fmt::format("{} ({}, {})", norm, recipe.batch, statistic_batch),
                    .recipe = recipe,
                    .first_turn = 2,
                    .add_fields = [batch = recipe.batch, size = statistic_batch](nlohmann::json& fields) {
                      fields["gradient_batch"] = batch;
                      fields["statistic_batch"] = size;
                    }});
  }
  return tuned_tasks(study, runs);
}

}  // namespace samplenorm::study
