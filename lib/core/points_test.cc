#include "core/points.h"

#include <gtest/gtest.h>

#include <numeric>

namespace samplenorm {
namespace {

const Shape kShape{1, 5, 2, 6, 40};
const Range kAllRows{0, 6};
const Box kAll{kAllRows, {0, 2}, {0, 6}, {0, 40}};

TEST(PointNumbers, CountThroughRowsAndMaps) {
  const Box box{{1, 6, 2}, {1, 2}, {2, 5, 2}, {3, 40, 20}};
  std::vector<int64_t> expected;
  for (const int64_t row : {1, 3, 5})
    for (const int64_t height : {2, 4})
      for (const int64_t width : {3, 23}) expected.push_back(row * 480 + 240 + height * 40 + width);
  EXPECT_EQ(point_numbers({1, {box}}, kShape, 0), expected);
  for (int64_t& number : expected) number += 7 * 480;
  EXPECT_EQ(point_numbers({1, {box}}, kShape, 7), expected);
}

TEST(PointNumbers, KeepTheOrderOfTheBoxes) {
  const Box last{{5, 6}, {1, 2}, {5, 6}, {39, 40}}, first{{0, 1}, {0, 1}, {0, 1}, {0, 1}};
  EXPECT_EQ(point_numbers({1, {last, first}}, kShape, 0), (std::vector<int64_t>{6 * 480 - 1, 0}));
}

TEST(PointNumbers, OfEverythingAreAllNumbersInOrder) {
  std::vector<int64_t> expected(6 * 480);
  std::iota(expected.begin(), expected.end(), 480);
  EXPECT_EQ(point_numbers({1, {kAll}}, kShape, 1), expected);
}

TEST(IsEverything, HoldsForOneBoxOfAllPointsAlone) {
  EXPECT_TRUE(is_everything({1, {kAll}}, kShape));
  EXPECT_FALSE(is_everything({1, {kAll, kAll}}, kShape));
  for (const auto part : {&Box::rows, &Box::depths, &Box::heights, &Box::widths}) {
    Box less = kAll;
    ++(less.*part).begin;
    EXPECT_FALSE(is_everything({1, {less}}, kShape));
    less = kAll;
    (less.*part).step = 2;
    EXPECT_FALSE(is_everything({1, {less}}, kShape));
  }
}

}  // namespace
}  // namespace samplenorm
