#include <gtest/gtest.h>

#include "samplers/testing.h"

namespace samplenorm {
namespace {

TEST(BatchNorm, TakesEveryPointOfEveryRowVirtualOnesToo) {
  const Box all = {{0, 10}, {0, 2}, {0, 5}, {0, 7}};
  EXPECT_EQ(draw(parse("BN"), {2, 8, 2, 5, 7}, {}), (Sample{{{1, {all}}}}));
  EXPECT_EQ(sampled_fraction(draw(parse("BN"), {2, 8, 2, 5, 7}, {}), {2, 8, 2, 5, 7}), 1);
}

}  // namespace
}  // namespace samplenorm
