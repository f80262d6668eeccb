// Fig. 3 and Table 2: accuracy against the sampling ratio, with our LS beside the paper's methods at each of them.

#include <fmt/format.h>

#include "study/tasks.h"
#include "study/training_runs.h"

namespace samplenorm::study {
namespace {

const std::vector<std::string> kRatios{"BN",       "NS-1/128",         "NS-4/128",  "NS-16/128", "BS-1/128",
                                       "BS-4/128", "BS-16/128",        "VDN-1/128", "VDN-4/128", "VDN-16/128",
                                       "FS-1/64",  "FS-1/32",          "FS-1/8",    "LS-1/64",   "LS-1/32",
                                       "LS-1/8",   "FS-1/64+VDN-2/128"};
/// The lower ratios, where methods differ.
const std::vector<std::string> kQuick{"BN",        "NS-1/128", "NS-4/128", "BS-1/128", "BS-4/128", "VDN-1/128",
                                      "VDN-4/128", "FS-1/64",  "FS-1/32",  "LS-1/64",  "LS-1/32",  "FS-1/64+VDN-2/128"};
/// Table 2, and LS at its ratios.
const std::vector<std::string> kImageNet{"BN",       "NS-1/128",          "NS-4/128",  "BS-1/128",
                                         "BS-4/128", "VDN-1/128",         "VDN-2/128", "FS-1/64",
                                         "FS-1/32",  "FS-1/64+VDN-2/128", "LS-1/64",   "LS-1/32"};

}  // namespace

std::vector<Study::Task> accuracy_tasks(Study& study) {
  const auto& options = study.options();
  std::vector<Study::Task> tasks;
  // Seed by seed, so that a study that is stopped has all norms of the seeds that it has.
  for (const int64_t seed : seeds_of(options))
    for (const auto& norm : norms_or(options, options.data == "folder" ? kImageNet : options.full ? kRatios : kQuick)) {
      train::Recipe recipe = base_recipe(options);
      recipe.norm = norm;
      recipe.seed = seed;
      tasks.push_back({fmt::format("{}, seed {}", norm, seed), [&study, recipe] {
                         auto fields = train_run(study, recipe);
                         study.watcher().on_result(outcome(fields));
                         return fields;
                       }});
    }
  return tasks;
}

}  // namespace samplenorm::study
