#include "train/recalibrate.h"

#include <torch/torch.h>

#include <algorithm>

#include "samplenorm/error.h"
#include "samplenorm/norm.h"
#include "train/precision.h"

namespace samplenorm::train {
namespace {

/// L1BN and RBN have a measure of spread of their own; all others evaluate as BN does.
std::string exact_norm(const std::string& norm) { return norm == "L1BN" || norm == "RBN" ? norm : "BN"; }

bool has_running_statistics(const models::Network& network) {
  for (const auto& buffer : network.named_buffers())
    if (buffer.key().ends_with("running_mean")) return true;
  return false;
}

/// One norm's running statistics, and their values after each batch.
struct Statistics {
  torch::Tensor mean;
  torch::Tensor spread;
  bool spread_is_variance;
  std::vector<torch::Tensor> means;
  std::vector<torch::Tensor> spreads;

  void note() {
    means.push_back(mean.to(torch::kDouble, /*non_blocking=*/false, /*copy=*/true));
    spreads.push_back(spread.to(torch::kDouble, /*non_blocking=*/false, /*copy=*/true));
  }

  void finish() {
    const auto all_spreads = torch::stack(spreads);
    const auto [exact_mean, exact_variance] = statistics_of_batches(torch::stack(means), all_spreads);
    mean.copy_(exact_mean);
    spread.copy_(spread_is_variance ? exact_variance : all_spreads.mean(0));
  }
};

/// Makes every norm's running statistics those of its last batch alone, and lists them.
std::vector<Statistics> follow_batches(torch::nn::Module& network) {
  std::vector<Statistics> all;
  for (const auto& module : network.modules()) {
    auto* norm = dynamic_cast<Norm*>(module.get());
    if (norm == nullptr) continue;
    norm->options.momentum(1.0);
    const auto buffers = norm->named_buffers(/*recurse=*/false);
    const bool variance = buffers.contains("running_var");
    all.push_back({buffers["running_mean"], buffers[variance ? "running_var" : "running_sigma"], variance, {}, {}});
  }
  return all;
}

/// Norms of the caller's may have other parameters.
void check_same_shapes(const std::vector<torch::Tensor>& weights, const std::vector<torch::Tensor>& others) {
  const auto same = [](const torch::Tensor& a, const torch::Tensor& b) { return a.sizes() == b.sizes(); };
  if (!std::equal(weights.begin(), weights.end(), others.begin(), others.end(), same))
    throw Error("statistics cannot be recalibrated: the network's norms have other parameters than the recipe's norm");
}

}  // namespace

std::shared_ptr<models::Network> recalibrated(const models::Network& network, const std::string& name,
                                              const models::ModelOptions& options, const std::string& precision,
                                              const std::function<std::optional<torch::Tensor>()>& next) {
  if (!has_running_statistics(network)) return nullptr;
  const torch::NoGradGuard no_gradients;
  auto exact_options = options;
  exact_options.norm = exact_norm(options.norm);
  auto twin = models::make_model(name, exact_options);
  const auto weights = network.parameters();  // in the order of registration, which the norm does not change
  const auto twin_weights = twin->parameters();
  check_same_shapes(weights, twin_weights);
  for (size_t i = 0; i < weights.size(); ++i) twin_weights[i].set_data(weights[i].detach());

  auto statistics = follow_batches(*twin);
  twin->train();
  while (const auto images = next()) {
    const PrecisionGuard guard(precision);
    twin->forward(*images);
    for (Statistics& norm : statistics) norm.note();
  }
  if (!statistics.empty() && !statistics.front().means.empty())
    for (Statistics& norm : statistics) norm.finish();
  twin->eval();
  return twin;
}

}  // namespace samplenorm::train
