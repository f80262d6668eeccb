// Fig. 3 and Table 2: accuracy against the sampling ratio, with our LS beside the paper's methods at each of them.

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
/// Those that matter, which are done first, and the others.
const std::vector<std::string> kStandard{"BN",       "LS-1/64",  "FS-1/64",  "FS-1/64+VDN-2/128",
                                         "BS-4/128", "NS-4/128", "VDN-1/128"};
const std::vector<std::string> kStandardThen{"FRS-1/32", "FS-1/32",  "LS-1/32",
                                             "BS-1/128", "NS-1/128", "LS-1/64;least=2"};
/// Table 2, and LS at its ratios.
const std::vector<std::string> kImageNet{"BN",       "NS-1/128",          "NS-4/128",  "BS-1/128",
                                         "BS-4/128", "VDN-1/128",         "VDN-2/128", "FS-1/64",
                                         "FS-1/32",  "FS-1/64+VDN-2/128", "LS-1/64",   "LS-1/32"};

/// Figs. 4 and 5.
const std::vector<std::string> kCurves{"BN",        "NS-4/128", "NS-1/128",          "BS-4/128", "BS-1/128",
                                       "VDN-1/128", "FS-1/64",  "FS-1/64+VDN-2/128", "LS-1/64",  "FRS-1/32"};

void add_runs(Study& study, const std::vector<std::string>& norms, int64_t first_turn, std::vector<TunedRun>& runs) {
  for (const auto& norm : norms) {
    train::Recipe recipe = base_recipe(study.options());
    recipe.norm = norm;
    runs.push_back({.name = norm, .recipe = recipe, .first_turn = first_turn});
  }
}

std::vector<Study::Task> tasks_of(Study& study, const std::vector<std::string>& usual) {
  const auto& options = study.options();
  const bool two_parts = options.scale == Scale::kStandard && options.norms.empty();
  std::vector<TunedRun> runs;
  add_runs(study, two_parts ? kStandard : norms_or(options, usual), 1, runs);
  if (two_parts) add_runs(study, kStandardThen, 1 + std::ssize(seeds_of(options)), runs);
  return tuned_tasks(study, runs);
}

}  // namespace

std::vector<Study::Task> accuracy_tasks(Study& study) {
  const auto& options = study.options();
  return tasks_of(study, options.data == "folder" ? kImageNet : options.scale == Scale::kFull ? kRatios : kQuick);
}

/// How the training loss falls: accuracy's runs have their curves with them.
std::vector<Study::Task> curves_tasks(Study& study) { return tasks_of(study, kCurves); }

}  // namespace samplenorm::study
