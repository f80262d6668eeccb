#include "train/scores.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace samplenorm::train {
namespace {

TEST(Scores, CountsLabelsAmongTheLargestLogits) {
  const auto logits = torch::tensor({{3.F, 2.F, 1.F, 0.F}, {0.F, 1.F, 2.F, 3.F}, {1.F, 3.F, 2.F, 0.F}});
  const auto labels = torch::tensor({0, 2, 3}, torch::kLong);
  EXPECT_EQ(right_among(logits, labels, 1), 1);
  EXPECT_EQ(right_among(logits, labels, 2), 2);
  EXPECT_EQ(right_among(logits, labels, 5), 3);  // fewer classes than five
}

}  // namespace
}  // namespace samplenorm::train
