#include "train/scores.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "data/synthetic.h"
#include "train/testing.h"

namespace samplenorm::train {
namespace {

TEST(Scores, CountsLabelsAmongTheLargestLogits) {
  const auto logits = torch::tensor({{3.F, 2.F, 1.F, 0.F}, {0.F, 1.F, 2.F, 3.F}, {1.F, 3.F, 2.F, 0.F}});
  const auto labels = torch::tensor({0, 2, 3}, torch::kLong);
  EXPECT_EQ(right_among(logits, labels, 1), 1);
  EXPECT_EQ(right_among(logits, labels, 2), 2);
  EXPECT_EQ(right_among(logits, labels, 5), 3);  // fewer classes than five
}

/// An image's mean as the logit of class 0.
torch::Tensor logits_of(const torch::Tensor& images) {
  const auto mean = images.mean({1, 2, 3});
  return torch::stack({mean, torch::zeros_like(mean), -mean}, 1);
}

TEST(Scores, SharesOfSeveralProcessesGiveTheScoresOfAllImages) {
  const auto set = data::make_synthetic({.train = 8, .test = 21, .classes = 3, .side = 12});
  data::Loader all(set, {.batch = 8, .training = false});
  const auto expected = score(logits_of, all, [] { return false; });
  on_ranks(7, [&](const auto& communicator) {
    data::Loader share(set, {.batch = 8, .training = false, .rank = communicator->rank(), .ranks = 7});
    const auto scores = score(
        logits_of, share, [] { return false; }, communicator);
    EXPECT_NEAR(scores->loss, expected->loss, 1e-6);
    EXPECT_EQ(scores->top1, expected->top1);
    EXPECT_EQ(scores->top5, 1);
    const auto stopped = score(
        logits_of, share, [&] { return communicator->rank() == 5; }, communicator);
    EXPECT_FALSE(stopped.has_value());
  });
}

}  // namespace
}  // namespace samplenorm::train
