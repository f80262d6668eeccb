// Figs. 8a, 8b and Table 3: every method's normalization alone, layer by layer, and whole training steps.

#include "study/tasks.h"
#include "study/timed_networks.h"
#include "study/training_runs.h"

namespace samplenorm::study {

std::vector<Study::Task> speed_tasks(Study& study) {
  const auto norms = norms_or(study.options(), {bench::kTorch, "BN", "L1BN", "RBN", "NS-4/128", "BS-4/128", "FS-1/32",
                                                "VDN-1/128", "FS-1/64+VDN-2/128", "LS-1/32", "none"});
  std::vector<Study::Task> tasks;
  for (const auto& step : step_cases(study.options(), {"resnet18", "resnet50", "densenet121", "resnet56"}))
    tasks.push_back({step.model, [&study, step, norms] { return profile_fields(study, step, norms); }});
  return tasks;
}

}  // namespace samplenorm::study
