#include "train/first_nonfinite.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "models/model.h"

namespace samplenorm::train {
namespace {

std::shared_ptr<models::Network> network_with(const std::string& norm) {
  torch::manual_seed(1);
  return models::make_model("small", {.norm = norm, .classes = 5, .channels = 3});
}

std::optional<std::string> found_in(models::Network& network) {
  return first_nonfinite(network, [&] { network.forward(torch::ones({4, 3, 28, 28})); });
}

TEST(FirstNonfinite, FindsNothingInAHealthyNetwork) {
  for (const std::string norm : {"LS-1/64", "torch", "none"}) EXPECT_EQ(found_in(*network_with(norm)), std::nullopt);
}

TEST(FirstNonfinite, NamesTheLayerOfEveryBrokenParameter) {
  for (const std::string norm : {"LS-1/64", "BN", "torch", "GN-4"}) {
    const auto names = network_with(norm)->named_parameters().keys();
    for (const std::string& name : names) {
      const auto network = network_with(norm);
      network->named_parameters()[name].data_ptr<float>()[0] = std::numeric_limits<float>::infinity();
      const std::string layer = name.substr(0, name.rfind('.'));
      const auto found = found_in(*network);
      ASSERT_TRUE(found) << norm << " " << name;
      EXPECT_TRUE(found->starts_with(layer + " (")) << norm << " " << name << ": " << *found;
      EXPECT_EQ(first_nonfinite_parameter(*network), name);
    }
  }
}

TEST(FirstNonfinite, StopsWatchingAfterwards) {
  const auto network = network_with("BN");
  EXPECT_THROW(first_nonfinite(*network, [] { throw std::runtime_error("on purpose"); }), std::runtime_error);
  EXPECT_TRUE(std::isnan(torch::tensor(-1.0).log().item<double>()));
  EXPECT_EQ(found_in(*network), std::nullopt);
}

}  // namespace
}  // namespace samplenorm::train
