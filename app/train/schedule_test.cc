#include "train/schedule.h"

#include <gtest/gtest.h>

namespace samplenorm::train {
namespace {

constexpr int64_t kSteps = 100;  // in an epoch

TEST(Schedule, StepsDivideByTenAtTheBeginOfAMilestone) {
  const Recipe recipe = find_recipe("cifar");
  EXPECT_DOUBLE_EQ(rate_at(recipe, 0, kSteps), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 50 * kSteps - 1, kSteps), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 50 * kSteps, kSteps), 0.01);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 80 * kSteps, kSteps), 0.001);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 130 * kSteps - 1, kSteps), 0.0001);
}

TEST(Schedule, ImagenetRateIsInProportionToTheBatch) {
  Recipe recipe = find_recipe("imagenet");
  recipe.batch = 64;
  EXPECT_DOUBLE_EQ(rate_at(recipe, 0, kSteps), 0.025);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 60 * kSteps, kSteps), 0.00025);
}

TEST(Schedule, OneCycleGoesStraightUpAndStraightDown) {
  Recipe recipe;
  recipe.epochs = 8;
  recipe.warm_up = 0.25;
  recipe.rate = 0.1;
  EXPECT_DOUBLE_EQ(rate_at(recipe, 0, kSteps), 0.1 / 200);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 99, kSteps), 0.05);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 199, kSteps), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 200, kSteps), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 500, kSteps), 0.05);
  EXPECT_DOUBLE_EQ(rate_at(recipe, 799, kSteps), 0.1 / 600);
}

TEST(Schedule, CosineEndsNearNothing) {
  Recipe recipe;
  recipe.schedule = "cosine";
  recipe.epochs = 2;
  recipe.warm_up = 0;
  recipe.rate = 1;
  EXPECT_DOUBLE_EQ(rate_at(recipe, 0, kSteps), 1);
  EXPECT_NEAR(rate_at(recipe, 100, kSteps), 0.5, 1e-12);
  EXPECT_LT(rate_at(recipe, 199, kSteps), 1e-3);
}

TEST(Schedule, WarmUpOfTheWholeRunOnlyRises) {
  Recipe recipe;
  recipe.epochs = 1;
  recipe.warm_up = 1;
  EXPECT_DOUBLE_EQ(rate_at(recipe, 99, kSteps), recipe.rate);
}

}  // namespace
}  // namespace samplenorm::train
