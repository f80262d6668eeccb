#include "train/recalibrate.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "train/state.h"

namespace samplenorm::train {
namespace {

constexpr int64_t kBatch = 16;

models::ModelOptions tiny(const std::string& norm) { return {.norm = norm, .classes = 5, .channels = 3}; }

std::vector<torch::Tensor> some_batches(int count) {
  torch::manual_seed(3);
  std::vector<torch::Tensor> batches;
  for (int i = 0; i < count; ++i)
    batches.push_back((torch::randn({kBatch, 3, 28, 28}) * (1 + i) + i).contiguous(torch::MemoryFormat::ChannelsLast));
  return batches;
}

std::shared_ptr<models::Network> recalibrated_with(const models::Network& network, const std::string& norm,
                                                   const std::vector<torch::Tensor>& batches) {
  size_t next = 0;
  return recalibrated(network, "small", tiny(norm), "float32", [&]() -> std::optional<torch::Tensor> {
    return next < batches.size() ? std::optional(batches[next++]) : std::nullopt;
  });
}

torch::Tensor first_ending_in(const torch::OrderedDict<std::string, torch::Tensor>& tensors, const std::string& end) {
  for (const auto& item : tensors)
    if (item.key().ends_with(end)) return item.value();
  throw std::runtime_error("no " + end);
}

TEST(Recalibrate, FirstLayersStatisticsAreThoseOfAllImages) {
  const torch::NoGradGuard no_gradients;
  const auto batches = some_batches(3);
  for (const std::string norm : {"FS-1/64", "BS-4/128", "torch", "VDN-2/128", "VBN-4"}) {
    const auto network = models::make_model("small", tiny(norm));
    const auto exact = recalibrated_with(*network, norm, batches);
    const auto weight = first_ending_in(network->named_parameters(), "weight");
    const auto inputs = torch::conv2d(torch::cat(batches), weight, {}, 1, 1);
    const auto mean = first_ending_in(exact->named_buffers(), "running_mean");
    const auto var = first_ending_in(exact->named_buffers(), "running_var");
    EXPECT_TRUE(torch::allclose(mean, inputs.mean({0, 2, 3}), 1e-4, 1e-5)) << norm;
    EXPECT_TRUE(torch::allclose(var, inputs.var({0, 2, 3}, /*unbiased=*/false), 1e-3, 1e-5)) << norm;
  }
}

TEST(Recalibrate, OneBatchIsNormalizedAsBatchNormTrainsOnIt) {
  const torch::NoGradGuard no_gradients;
  const auto batches = some_batches(1);
  const auto network = models::make_model("small", tiny("BN"));
  const auto exact = recalibrated_with(*network, "BN", batches);
  EXPECT_FALSE(exact->is_training());
  const auto evaluated = exact->forward(batches[0]);
  network->train();
  EXPECT_TRUE(torch::allclose(evaluated, network->forward(batches[0]), 1e-2, 1e-3));
  network->eval();
  EXPECT_FALSE(torch::allclose(evaluated, network->forward(batches[0]), 1e-2, 1e-3));
}

TEST(Recalibrate, RangeNormsKeepTheirOwnMeasureOfSpread) {
  const torch::NoGradGuard no_gradients;
  const auto batches = some_batches(2);
  const auto network = models::make_model("small", tiny("L1BN"));
  const auto exact = recalibrated_with(*network, "L1BN", batches);
  const auto weight = first_ending_in(network->named_parameters(), "weight");
  torch::Tensor spread = torch::zeros(weight.size(0));
  for (const auto& batch : batches) {
    const auto inputs = torch::conv2d(batch, weight, {}, 1, 1);
    spread += (inputs - inputs.mean({0, 2, 3}, true)).abs().mean({0, 2, 3}) / 2;
  }
  EXPECT_TRUE(torch::allclose(first_ending_in(exact->named_buffers(), "running_sigma"), spread, 1e-4, 1e-5));
}

TEST(Recalibrate, LeavesTheNetworkAsItWas) {
  const auto network = models::make_model("small", tiny("LS-1/64"));
  const Sgd optimizer(*network, {});
  const auto before = state_of(*network, optimizer, {});
  recalibrated_with(*network, "LS-1/64", some_batches(2));
  const auto after = state_of(*network, optimizer, {});
  EXPECT_TRUE(network->is_training());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].second.equal(after[i].second)) << before[i].first;
}

TEST(Recalibrate, NothingToDoWithoutRunningStatistics) {
  for (const std::string norm : {"GN-4", "LN", "none"})
    EXPECT_EQ(recalibrated_with(*models::make_model("small", tiny(norm)), norm, some_batches(1)), nullptr) << norm;
}

}  // namespace
}  // namespace samplenorm::train
