// Figs. 6 and 7: how far the statistics of samples are from those of the whole batch in the first epoch, and whether
// the layers' errors go together; and the paper's two formulas about them.

#include <fmt/format.h>
#include <torch/torch.h>

#include "study/estimate_variance.h"
#include "study/tasks.h"
#include "study/watched_training.h"

namespace samplenorm::study {
namespace {

using nlohmann::json;

const std::vector<std::string> kNorms{"NS-4/128", "BS-4/128", "FS-1/32", "VDN-1/128", "FRS-1/32", "LS-1/32"};
/// And what more points give.
const std::vector<std::string> kStandardNorms{"NS-4/128",          "BS-4/128", "FS-1/32",           "VDN-1/128",
                                              "FRS-1/32",          "LS-1/32",  "FS-1/64",           "LS-1/64;least=2",
                                              "LS-1/64;least=256", "LS-1/64",  "LS-1/64;least=2048"};
constexpr const char* kExact = "BN";
constexpr const char* kMovingAverageNorm = "BS-1/128;redraw=step";
constexpr int64_t kMovingAverageEpochs = 3;  // of batches, over which its variance is measured

/// Errors (layers, steps).
torch::Tensor errors_of(const WatchedTraining& training, torch::Tensor (WatchedNorm::*kind)() const) {
  std::vector<torch::Tensor> rows;
  for (const auto& [name, norm] : training.layers()) rows.push_back((*norm.*kind)());
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

json layer_errors(Study& study, const train::Recipe& recipe, const std::filesystem::path& folder) {
  const WatchedTraining training(study, recipe, folder);
  json fields{{"part", "layers"},
              {"model", recipe.model},
              {"data", recipe.data},
              {"norm", recipe.norm},
              {"steps", training.steps_per_epoch()},
              {"layers", json::array()},
              {"rate", recipe.rate},
              {"seconds", training.seconds()}};
  for (const auto& [name, norm] : training.layers()) fields["layers"].push_back(name);
  for (const auto& [kind, member] :
       {std::pair("mean", &WatchedNorm::mean_errors), {"deviation", &WatchedNorm::deviation_errors}}) {
    const auto errors = errors_of(training, member);
    // A layer that is taken whole has no errors, which go together with nothing.
    const auto correlation = torch::corrcoef(errors).nan_to_num(0).fill_diagonal_(1);
    fields[fmt::format("{}_errors", kind)] = boxes_of(errors);
    fields[fmt::format("{}_correlation", kind)] = matrix_of(correlation);
    fields[fmt::format("{}_correlation_average", kind)] = mean_off_diagonal(correlation);
  }
  study.watcher().on_result(fmt::format("mean correlation between the layers' errors {:.2f}",
                                        fields["mean_correlation_average"].get<double>()));
  return fields;
}

/// In the first norm of the first block of a network that has learned for an epoch.
json variance(Study& study, const train::Recipe& recipe, const std::filesystem::path& folder) {
  WatchedTraining training(study, recipe, folder);
  training.pass(/*epoch=*/1, /*batches=*/1);
  const auto& [name, norm] = training.layers().at(1);
  return {
      {"part", "variance"}, {"model", recipe.model}, {"layer", name}, {"points", variances_of_estimates(norm->input)}};
}

json moving_average(Study& study, const train::Recipe& recipe, const std::filesystem::path& folder) {
  WatchedTraining training(study, recipe, folder, kMovingAverageNorm);
  for (const auto& [name, norm] : training.layers()) norm->means.emplace();
  for (int64_t epoch = 1; epoch <= kMovingAverageEpochs; ++epoch) training.pass(epoch, training.steps_per_epoch());
  std::vector<torch::Tensor> series;
  for (const auto& [name, norm] : training.layers()) series.push_back(torch::stack(*norm->means));
  return {{"part", "moving_average"},
          {"model", recipe.model},
          {"norm", kMovingAverageNorm},
          {"steps", series.front().size(0)},
          {"points", variances_of_moving_averages(series, {0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0})}};
}

}  // namespace

std::vector<Study::Task> error_tasks(Study& study) {
  // One epoch, but of a network with enough layers to correlate; the paper's is ResNet-56.
  const auto scale = study.options().scale;
  train::Recipe recipe = base_recipe(study.options(), [&](train::Recipe& own) {
    own.epochs = 1;
    if (scale != Scale::kFull) own.model = scale == Scale::kQuick ? "resnet20" : "resnet56";
  });
  recipe.recalibrate = 0;
  std::vector<Study::Task> tasks;
  const auto add = [&](const std::string& id,
                       json (*make)(Study&, const train::Recipe&, const std::filesystem::path&)) {
    tasks.push_back({.id = id,
                     .make =
                         [&study, id, recipe, make] {
                           return or_failed({{"norm", recipe.norm}, {"model", recipe.model}},
                                            [&] { return make(study, recipe, study.work_folder(id)); });
                         },
                     .turn = 1});
  };
  for (const auto& norm : norms_or(study.options(), scale == Scale::kStandard ? kStandardNorms : kNorms)) {
    recipe.norm = norm;
    add(norm, layer_errors);
  }
  recipe.norm = kExact;
  add("variance", variance);
  add("moving average", moving_average);
  return tasks;
}

}  // namespace samplenorm::study
