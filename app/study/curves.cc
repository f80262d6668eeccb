// Figs. 4 and 5: how the training loss falls.

#include <fmt/format.h>

#include "record/run_folder.h"
#include "study/loss_curve.h"
#include "study/tasks.h"
#include "study/training_runs.h"

namespace samplenorm::study {
namespace {

using nlohmann::json;

const std::vector<std::string> kNorms{"BN",        "NS-4/128", "NS-1/128",          "BS-4/128", "BS-1/128",
                                      "VDN-1/128", "FS-1/64",  "FS-1/64+VDN-2/128", "LS-1/64",  "FRS-1/32"};

json curve(Study& study, const train::Recipe& recipe) {
  json fields = train_run(study, recipe);
  const auto metrics = record::read_metrics(run_folder(study.options(), recipe));
  std::vector<double> losses;
  for (const auto& step : metrics.steps) losses.push_back(step.loss);
  fields.update(loss_curve(losses));
  fields["epoch_top1"] = json::array();
  for (const auto& epoch : metrics.epochs) fields["epoch_top1"].push_back(epoch.test_top1);
  study.watcher().on_result(outcome(fields));
  return fields;
}

}  // namespace

std::vector<Study::Task> curves_tasks(Study& study) {
  std::vector<Study::Task> tasks;
  for (const int64_t seed : seeds_of(study.options()))
    for (const auto& norm : norms_or(study.options(), kNorms)) {
      train::Recipe recipe = base_recipe(study.options());
      recipe.norm = norm;
      recipe.seed = seed;
      tasks.push_back({fmt::format("{}, seed {}", norm, seed), [&study, recipe] { return curve(study, recipe); }});
    }
  return tasks;
}

}  // namespace samplenorm::study
