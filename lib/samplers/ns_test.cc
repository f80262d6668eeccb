#include <gtest/gtest.h>

#include "samplers/testing.h"

namespace samplenorm {
namespace {

TEST(NaiveSampling, TakesTheFirstRealRowsInEveryLayerForEver) {
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(box_of("NS-4/128", {0, 128, 1, 5, 7}, {i, i, i, i, i}), (Box{{0, 4}, {0, 1}, {0, 5}, {0, 7}}));
    EXPECT_EQ(box_of("NS-4/128", {3, 64, 2, 5, 7}, {i, i, i, i, i}), (Box{{3, 5}, {0, 2}, {0, 5}, {0, 7}}));
  }
}

TEST(NaiveSampling, TakesAtLeastOneRowAndAtLeastTwoPoints) {
  EXPECT_EQ(box_of("NS-1/128", {0, 8, 1, 1, 2}).rows, (Range{0, 1}));
  EXPECT_EQ(box_of("NS-1/128", {0, 8}).rows, (Range{0, 2}));
  EXPECT_EQ(box_of("NS-1/128;least=1", {0, 8}).rows, (Range{0, 1}));
}

}  // namespace
}  // namespace samplenorm
