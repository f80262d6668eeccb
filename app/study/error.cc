// Figs. 6 and 7: how far the statistics of samples are from those of the whole batch in the first epoch, and whether
// the layers' errors go together; and the paper's two formulas about them.

#include <fmt/format.h>
#include <torch/torch.h>

#include "study/estimate_variance.h"
#include "study/tasks.h"
#include "study/training_runs.h"
#include "study/watched_training.h"

namespace samplenorm::study {
namespace {

using nlohmann::json;

constexpr const char* kExact = "BN";
constexpr const char* kMovingAverageNorm = "BS-1/128;redraw=step";
constexpr int64_t kMovingAverageEpochs = 3;  // of batches, over which its variance is measured

/// Errors (layers, steps).
torch::Tensor errors_of(const WatchedTraining& training, std::vector<double> WatchedNorm::*kind) {
  std::vector<torch::Tensor> rows;
  for (const auto& [name, norm] : training.layers()) rows.push_back(torch::tensor((*norm).*kind, torch::kDouble));
  return torch::stack(rows);
}

json box_of(const torch::Tensor& errors) {
  const auto quantiles = errors.quantile(torch::tensor({0.0, 0.25, 0.5, 0.75, 1.0}, torch::kDouble));
  const auto at = [&](int64_t i) { return quantiles[i].item<double>(); };
  return {{"low", at(0)}, {"q1", at(1)}, {"median", at(2)}, {"q3", at(3)}, {"high", at(4)}};
}

json boxes_of(const torch::Tensor& errors) {
  auto boxes = json::array();
  for (int64_t i = 0; i < errors.size(0); ++i) boxes.push_back(box_of(errors[i]));
  return boxes;
}

json matrix_of(const torch::Tensor& correlation) {
  auto rows = json::array();
  for (int64_t i = 0; i < correlation.size(0); ++i) {
    auto row = json::array();
    for (int64_t j = 0; j < correlation.size(1); ++j) row.push_back(correlation[i][j].item<double>());
    rows.push_back(row);
  }
  return rows;
}

double mean_off_diagonal(const torch::Tensor& correlation) {
  const auto size = static_cast<double>(correlation.size(0));
  return (correlation.sum() - correlation.trace()).item<double>() / (size * (size - 1));
}

json layer_errors(Study& study, const train::Recipe& recipe) {
  WatchedTraining training(study, recipe);
  training.train();
  json fields{{"part", "layers"},
              {"model", recipe.model},
              {"data", recipe.data},
              {"norm", recipe.norm},
              {"steps", training.steps_per_epoch()},
              {"layers", json::array()},
              {"rate", recipe.rate}};
  for (const auto& [name, norm] : training.layers()) fields["layers"].push_back(name);
  for (const auto& [kind, member] :
       {std::pair("mean", &WatchedNorm::mean_errors), {"deviation", &WatchedNorm::deviation_errors}}) {
    const auto errors = errors_of(training, member);
    const auto correlation = torch::corrcoef(errors);
    fields[fmt::format("{}_errors", kind)] = boxes_of(errors);
    fields[fmt::format("{}_correlation", kind)] = matrix_of(correlation);
    fields[fmt::format("{}_correlation_average", kind)] = mean_off_diagonal(correlation);
  }
  study.watcher().on_result(fmt::format("mean correlation between the layers' errors {:.2f}",
                                        fields["mean_correlation_average"].get<double>()));
  return fields;
}

/// In the first norm of the first block of a network that has learned for an epoch.
json variance(Study& study, const train::Recipe& recipe) {
  WatchedTraining training(study, recipe);
  training.train();
  const auto& [name, norm] = training.layers().at(1);
  return {
      {"part", "variance"}, {"model", recipe.model}, {"layer", name}, {"points", variances_of_estimates(norm->input)}};
}

json moving_average(Study& study, const train::Recipe& recipe) {
  WatchedTraining training(study, recipe, kMovingAverageNorm);
  training.train();
  training.forget();
  for (int64_t epoch = 1; epoch <= kMovingAverageEpochs; ++epoch) training.pass_epoch(epoch);
  std::vector<torch::Tensor> series;
  for (const auto& [name, norm] : training.layers()) series.push_back(torch::stack(norm->means));
  return {{"part", "moving_average"},
          {"model", recipe.model},
          {"norm", kMovingAverageNorm},
          {"steps", series.front().size(0)},
          {"points", variances_of_moving_averages(series, {0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0})}};
}

}  // namespace

std::vector<Study::Task> error_tasks(Study& study) {
  // One epoch, but of a network with enough layers to correlate; the paper's is ResNet-56.
  train::Recipe recipe = base_recipe(study.options(), [&](train::Recipe& own) {
    own.epochs = 1;
    if (!study.options().full) own.model = "resnet20";
  });
  std::vector<Study::Task> tasks;
  for (const auto& norm :
       norms_or(study.options(), {"NS-4/128", "BS-4/128", "FS-1/32", "VDN-1/128", "FRS-1/32", "LS-1/32"})) {
    recipe.norm = norm;
    tasks.push_back({norm, [&study, recipe] { return layer_errors(study, recipe); }});
  }
  recipe.norm = kExact;
  tasks.push_back({"variance", [&study, recipe] { return variance(study, recipe); }});
  tasks.push_back({"moving average", [&study, recipe] { return moving_average(study, recipe); }});
  return tasks;
}

}  // namespace samplenorm::study
