#include "bench/quartiles.h"

#include <gtest/gtest.h>

namespace samplenorm::bench {
namespace {

TEST(Quartiles, StandBetweenTheValuesWhateverTheirOrder) {
  const Quartiles spread = quartiles({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(spread.first, 1.75);
  EXPECT_DOUBLE_EQ(spread.median, 2.5);
  EXPECT_DOUBLE_EQ(spread.third, 3.25);
}

TEST(Quartiles, OfOneValueAreThatValue) {
  const Quartiles spread = quartiles({7});
  EXPECT_EQ(spread.first, 7);
  EXPECT_EQ(spread.median, 7);
  EXPECT_EQ(spread.third, 7);
}

TEST(MedianRatio, PairsTheRoundsSoThatNoiseOfARoundCancels) {
  EXPECT_DOUBLE_EQ(median_ratio({2, 20, 20}, {4, 4, 40}), 0.5);
  EXPECT_DOUBLE_EQ(median_ratio({2, 2, 20}, {1, 1, 10}), 2);
}

TEST(GeometricMean, OfAFactorAndItsInverseIsOne) {
  EXPECT_DOUBLE_EQ(geometric_mean({4, 0.25}), 1);
  EXPECT_DOUBLE_EQ(geometric_mean({2, 8}), 4);
}

}  // namespace
}  // namespace samplenorm::bench
