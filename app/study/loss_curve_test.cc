#include "study/loss_curve.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace samplenorm::study {
namespace {

TEST(LossCurve, OfFewStepsIsTheLosses) {
  const auto curve = loss_curve({3, 2, 1});
  EXPECT_EQ(curve["steps"], (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(curve["losses"], (std::vector<double>{3, 2, 1}));
}

TEST(LossCurve, OfManyStepsHasAHundredMeansWithEveryStepInOne) {
  std::vector<double> losses;
  for (int i = 0; i < 250; ++i) losses.push_back(i);
  const auto curve = loss_curve(losses);
  ASSERT_EQ(curve["steps"].size(), 100u);
  EXPECT_EQ(curve["steps"].back(), 250);
  EXPECT_EQ(curve["steps"][1], 5);
  EXPECT_EQ(curve["losses"][1], 3.0);  // steps 2, 3 and 4, counted from 0
}

TEST(LossCurve, OfNoStepsIsEmpty) { EXPECT_TRUE(loss_curve({})["steps"].empty()); }

}  // namespace
}  // namespace samplenorm::study
