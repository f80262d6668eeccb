// Fig. 1a: what normalization costs of a training step.

#include <fmt/format.h>

#include "bench/quartiles.h"
#include "bench/seconds_record.h"
#include "bench/step_bench.h"
#include "study/tasks.h"
#include "study/timed_networks.h"
#include "study/training_runs.h"

namespace samplenorm::study {
namespace {

using nlohmann::json;

constexpr bench::Effort kEffort{.rounds = 5, .seconds = 0, .repeats = 1, .seconds_per_turn = 0, .settling_calls = 1};
constexpr const char* kWithout = "none";

json measure(Study& study, const bench::StepCase& step) {
  auto norms = norms_or(study.options(), {bench::kTorch, "BN", "LS-1/64"});
  if (std::find(norms.begin(), norms.end(), kWithout) == norms.end()) norms.push_back(kWithout);
  std::vector<bench::NamedStep> steps;
  for (const auto& norm : norms) steps.push_back(bench::named_step(step, norm));
  const auto seconds = bench::time_steps(steps, kEffort);
  const auto without = static_cast<size_t>(std::find(norms.begin(), norms.end(), kWithout) - norms.begin());

  json fields = describe(step);
  fields["norms"] = json::array();
  for (size_t i = 0; i < norms.size(); ++i) {
    const double speed = bench::median_ratio(seconds[without].both, seconds[i].both);
    fields["norms"].push_back({{"norm", norms[i]},
                               {"seconds", bench::spread(seconds[i].both)},
                               {"iterations_per_second", 1 / bench::quartiles(seconds[i].both).median},
                               {"speed", speed}});
    study.watcher().on_result(fmt::format("{}: {:.2f} of the speed without normalization", norms[i], speed));
  }
  return fields;
}

}  // namespace

std::vector<Study::Task> cost_tasks(Study& study) {
  std::vector<Study::Task> tasks;
  for (const auto& step : step_cases(study.options(), {"resnet18", "resnet50", "resnet56"}))
    tasks.push_back({step.model, [&study, step] { return measure(study, step); }});
  return tasks;
}

}  // namespace samplenorm::study
