#include "train/state.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "samplenorm/error.h"
#include "samplenorm/norm.h"

namespace samplenorm::train {
namespace {

std::shared_ptr<models::Network> network_of(int64_t classes, uint64_t seed, const std::string& norm = "LS-1/64") {
  torch::manual_seed(seed);
  const auto network = models::make_model("small", {.norm = norm, .classes = classes, .channels = 3});
  set_seed(*network, 1);  // the same samples, whatever was made in this process before
  return network;
}

/// Some steps, so that nothing has its first value.
void train_a_little(models::Network& network, Sgd& optimizer, int steps) {
  for (int i = 0; i < steps; ++i) {
    torch::manual_seed(static_cast<uint64_t>(i));
    optimizer.clear_gradients();
    network.forward(torch::randn({4, 3, 28, 28})).square().sum().backward();
    optimizer.step(0.01);
  }
}

TEST(State, RestoredRunGoesOnBitwiseLikeTheOther) {
  const auto network = network_of(5, 1);
  Sgd optimizer(*network, {.weight_decay = 0.1});
  train_a_little(*network, optimizer, 3);
  const auto tensors = state_of(*network, optimizer, {1, 2, 3, 4.5, 5.5, 6.5, 7});
  train_a_little(*network, optimizer, 2);

  const auto other = network_of(5, 2);
  Sgd other_optimizer(*other, {.weight_decay = 0.1});
  EpochSums sums;
  restore(*other, tensors, "here");
  restore(other_optimizer, sums, tensors, "here");
  EXPECT_EQ(sums.right, 3);
  EXPECT_EQ(sums.loss, 4.5);
  EXPECT_EQ(sums.skipped_images, 7);
  train_a_little(*other, other_optimizer, 2);

  const auto expected = state_of(*network, optimizer, sums), actual = state_of(*other, other_optimizer, sums);
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(expected[i].second.equal(actual[i].second)) << expected[i].first;
}

TEST(State, AnotherNetworksCheckpointIsNamed) {
  const auto network = network_of(5, 1);
  const auto tensors = state_of(*network, Sgd(*network, {}), {});
  const auto message_for = [&](models::Network& other) -> std::string {
    try {
      restore(other, tensors, "run/x");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message_for(*network_of(7, 1)),
            "run/x is of another network: its classifier.weight is of size [5, 64] and should be of size [7, 64]");
  torch::manual_seed(1);
  const auto resnet = models::make_model("resnet20", {.norm = "BN", .classes = 5});
  EXPECT_NE(message_for(*resnet).find("run/x is of another network: "), std::string::npos);
}

}  // namespace
}  // namespace samplenorm::train
