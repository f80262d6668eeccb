#pragma once

// Shared by the tests of models/.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>

#include "models/model.h"

namespace samplenorm::models::testing {

/// A network with the weights of this seed, in training.
inline std::shared_ptr<Network> seeded_model(const std::string& name, const ModelOptions& options) {
  torch::manual_seed(1);
  auto network = make_model(name, options);
  set_seed(*network, 1);
  network->train();
  return network;
}

inline std::shared_ptr<Network> seeded_model(const std::string& name, const std::string& norm) {
  return seeded_model(name, ModelOptions{.norm = norm});
}

/// Images (rows, 3, side, side) in channels_last, always the same.
inline torch::Tensor images(int64_t rows, int64_t side) {
  torch::manual_seed(2);
  return torch::randn({rows, 3, side, side}).contiguous(torch::MemoryFormat::ChannelsLast);
}

/// Forward and backward; the gradients stay in the parameters.
inline torch::Tensor train_on(Network& network, const torch::Tensor& x) {
  const torch::Tensor logits = network.forward(x);
  torch::cross_entropy_loss(logits, torch::arange(x.size(0)) % logits.size(1)).backward();
  return logits.detach();
}

/// The largest difference, in units of the largest expected value.
inline double difference(const torch::Tensor& actual, const torch::Tensor& expected) {
  return ((actual - expected).abs().max() / expected.abs().max().clamp_min(1e-12)).item<double>();
}

}  // namespace samplenorm::models::testing
