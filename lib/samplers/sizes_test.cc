#include "samplers/sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace samplenorm {
namespace {

using Sides = std::array<int64_t, 3>;

Shape map(int64_t depth, int64_t height, int64_t width) { return {0, 1, depth, height, width}; }

Sides patch(Ratio ratio, const Shape& shape) {
  return nearest_sides(static_cast<double>(shape.map_points()) * ratio.value(), shape);
}

TEST(ShareOf, IsTheRatioOfTheRowsAtHandAndAtLeastOne) {
  EXPECT_EQ(share_of(128, {4, 128}), 4);
  EXPECT_EQ(share_of(32, {4, 128}), 1);
  EXPECT_EQ(share_of(8, {4, 128}), 1);
  EXPECT_EQ(share_of(1, {1, 128}), 1);
  EXPECT_EQ(share_of(256, {4, 128}), 8);
  EXPECT_EQ(share_of(7, {1, 1}), 7);
}

TEST(ShareOf, IsTheNearestWholeNumber) {
  EXPECT_EQ(share_of(25, {29, 50}), 15);  // a tie, 14.5
  for (int64_t count = 1; count < 60; ++count)
    for (int64_t whole = 1; whole < 40; ++whole)
      for (int64_t part = 1; part <= whole; ++part) {
        const int64_t share = share_of(count, {part, whole});
        ASSERT_GE(share, 1);
        ASSERT_LE(share, count);
        const int64_t off = share * whole - count * part;  // in units of 1/whole
        if (share == 1 && off > 0) continue;               // at least one
        ASSERT_LE(2 * std::abs(off), whole);
      }
}

TEST(NearestSides, AreThoseOfTheDesignsExamples) {
  EXPECT_EQ(patch({1, 32}, map(1, 56, 56)), (Sides{1, 7, 14}));
  EXPECT_EQ(patch({1, 64}, map(1, 7, 7)), (Sides{1, 1, 1}));
  EXPECT_EQ(patch({1, 64}, map(1, 1, 1)), (Sides{1, 1, 1}));
  EXPECT_EQ(patch({1, 64}, map(1, 56, 56)), (Sides{1, 7, 7}));
  EXPECT_EQ(patch({1, 1}, map(1, 13, 5)), (Sides{1, 13, 5}));
}

TEST(NearestSides, OfALatticeCellAreNeverLongerThanTheMap) {
  EXPECT_EQ(nearest_sides(64, map(1, 56, 56)), (Sides{1, 8, 8}));
  EXPECT_EQ(nearest_sides(64, map(1, 7, 7)), (Sides{1, 7, 7}));
  EXPECT_EQ(nearest_sides(64, map(1, 4, 100)), (Sides{1, 4, 16}));
  EXPECT_EQ(nearest_sides(64, map(1, 1, 1000)), (Sides{1, 1, 64}));
  EXPECT_EQ(nearest_sides(64, map(8, 8, 8)), (Sides{4, 4, 4}));
  EXPECT_EQ(nearest_sides(64, map(2, 3, 5)), (Sides{2, 3, 5}));
  EXPECT_EQ(nearest_sides(64, map(1, 1, 1)), (Sides{1, 1, 1}));
}

/// What sizes.h orders sides by: the distance from `points`, the difference of the sides, whether they stand upright.
std::tuple<double, int64_t, bool> cost(const Sides& sides, double points, const Shape& shape) {
  const auto [d, h, w] = sides;
  const auto [shortest, longest] = shape.depth > 1 ? std::minmax({d, h, w}) : std::minmax({h, w});
  const double off = std::round(1e6 * std::abs(static_cast<double>(d * h * w) - points));
  return {off, longest - shortest, h > w};
}

std::tuple<double, int64_t, bool> least_cost(double points, const Shape& shape) {
  auto least = cost({1, 1, 1}, points, shape);
  for (int64_t d = 1; d <= shape.depth; ++d)
    for (int64_t h = 1; h <= shape.height; ++h)
      for (int64_t w = 1; w <= shape.width; ++w) least = std::min(least, cost({d, h, w}, points, shape));
  return least;
}

TEST(NearestSides, AreTheBestOfAllSides) {
  const Shape shapes[] = {map(1, 1, 1),   map(1, 1, 50),  map(1, 50, 1),  map(1, 5, 3),   map(1, 7, 7), map(1, 14, 14),
                          map(1, 13, 29), map(1, 29, 13), map(1, 56, 56), map(2, 3, 5),   map(4, 4, 4), map(1, 4, 4),
                          map(3, 14, 14), map(8, 7, 9),   map(9, 1, 9),   map(16, 16, 16)};
  const Ratio ratios[] = {{1, 1},  {7, 8},  {2, 3},  {1, 2},  {1, 3},   {1, 4},   {1, 7},
                          {1, 10}, {3, 64}, {1, 32}, {1, 64}, {1, 100}, {1, 4096}};
  for (const Shape& shape : shapes)
    for (const Ratio ratio : ratios)
      for (const double points : {static_cast<double>(shape.map_points()) * ratio.value(), 1 / ratio.value()}) {
        const Sides sides = nearest_sides(points, shape);
        const auto where = ::testing::Message() << points << " points of " << shape.depth << " x " << shape.height
                                                << " x " << shape.width << ": " << ::testing::PrintToString(sides);
        EXPECT_EQ(cost(sides, points, shape), least_cost(points, shape)) << where;
        for (size_t i = 0; i < 3; ++i) EXPECT_LE(sides[i], (Sides{shape.depth, shape.height, shape.width}[i])) << where;
      }
}

}  // namespace
}  // namespace samplenorm
