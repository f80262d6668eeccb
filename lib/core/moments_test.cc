#include "core/moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace samplenorm {
namespace {

constexpr size_t kChannels = 3;
using Point = std::array<double, kChannels>;

/// Moments with memory of their own.
struct Owned {
  double count = 0;
  std::vector<double> mean = std::vector<double>(kChannels);
  std::vector<double> m2 = std::vector<double>(kChannels);

  Moments view() { return {count, mean, m2}; }
  bool operator==(const Owned&) const = default;
};

Owned moments_of(std::span<const Point> points) {
  Owned result;
  result.count = static_cast<double>(points.size());
  for (size_t c = 0; c < kChannels; ++c) {
    long double sum = 0, squares = 0;
    for (const Point& point : points) sum += point[c];
    const long double mean = sum / std::max<long double>(1, result.count);
    for (const Point& point : points) squares += (point[c] - mean) * (point[c] - mean);
    result.mean[c] = static_cast<double>(mean);
    result.m2[c] = static_cast<double>(squares);
  }
  return result;
}

Owned merged(Owned into, Owned from) {
  Moments view = into.view();
  merge(view, from.view());
  into.count = view.count;
  return into;
}

std::vector<Point> random_points(size_t count, double mean, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<Point> points(count);
  for (Point& point : points)
    for (size_t c = 0; c < kChannels; ++c) point[c] = mean + static_cast<double>(c + 1) * normal(random);
  return points;
}

/// Cuts the points into parts (some empty) and merges any two of them until one is left.
Owned merged_in_any_order(std::span<const Point> points, std::mt19937_64& random) {
  std::vector<Owned> parts;
  for (size_t begin = 0; begin < points.size();) {
    const size_t size = std::min(random() % 40, points.size() - begin);
    parts.push_back(moments_of(points.subspan(begin, size)));
    begin += size;
  }
  while (parts.size() > 1) {
    std::shuffle(parts.begin(), parts.end(), random);
    const Owned last = parts.back();
    parts.pop_back();
    parts.back() = merged(parts.back(), last);
  }
  return parts[0];
}

void expect_near(const Owned& actual, const Owned& expected, double tolerance_of_mean, double tolerance_of_m2) {
  EXPECT_EQ(actual.count, expected.count);
  for (size_t c = 0; c < kChannels; ++c) {
    EXPECT_NEAR(actual.mean[c], expected.mean[c], tolerance_of_mean);
    EXPECT_NEAR(actual.m2[c], expected.m2[c], tolerance_of_m2 * expected.m2[c]);
  }
}

TEST(Merge, OfPartsInAnyOrderAndGroupingEqualsTheWhole) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const auto points = random_points(1 + random() % 1000, 2, random);
    expect_near(merged_in_any_order(points, random), moments_of(points), 1e-12, 1e-12);
  }
}

TEST(Merge, IsStableWhereTheMeanIsLargeAgainstTheDeviation) {
  std::mt19937_64 random(2);
  const auto points = random_points(1000, 1e8, random);
  expect_near(merged_in_any_order(points, random), moments_of(points), 1e-6, 1e-7);
}

TEST(Merge, WithNoPointsChangesNothing) {
  std::mt19937_64 random(3);
  const Owned some = moments_of(random_points(10, 1, random));
  Owned none;
  EXPECT_EQ(merged(some, none), some);
  EXPECT_EQ(merged(none, some), some);
  EXPECT_EQ(merged(none, none), none);
}

TEST(Merge, IgnoresWhatStandsInMomentsOfNoPoints) {
  std::mt19937_64 random(4);
  const Owned some = moments_of(random_points(10, 1, random));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Owned none = {0, {nan, nan, nan}, {nan, nan, nan}};  // 0 / 0 for a mean
  EXPECT_EQ(merged(some, none), some);
  EXPECT_EQ(merged(none, some), some);
}

/// Statistics with memory of their own, filled with something that combine() must overwrite.
struct Combined {
  std::vector<double> mean = {9, 9, 9}, var = {9, 9, 9}, unbiased_var = {9, 9, 9};

  explicit Combined(std::vector<WeightedMoments> groups) { combine(groups, {mean, var, unbiased_var}); }
};

TEST(Combine, GivesWeightedSumsOfMeansAndOfBothVariances) {
  Owned a{4, {1, 2, 3}, {8, 12, 0}};
  Owned b{11, {5, 0, -1}, {110, 11, 22}};
  const Combined result({{0.25, a.view()}, {0.75, b.view()}});
  EXPECT_EQ(result.mean, (std::vector<double>{4, 0.5, 0}));
  const double var[] = {0.25 * 2 + 0.75 * 10, 0.25 * 3 + 0.75 * 1, 0.75 * 2};
  const double unbiased[] = {0.25 * 8 / 3 + 0.75 * 11, 0.25 * 4 + 0.75 * 1.1, 0.75 * 2.2};
  for (size_t c = 0; c < kChannels; ++c) {
    EXPECT_NEAR(result.var[c], var[c], 1e-15);
    EXPECT_NEAR(result.unbiased_var[c], unbiased[c], 1e-14);
  }
}

TEST(Combine, OfAGroupOfOnePointHasNoVariance) {
  Owned single{1, {1, 2, 3}, {0, 0, 0}};
  const Combined result({{1, single.view()}});
  EXPECT_EQ(result.mean, single.mean);
  EXPECT_EQ(result.var, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(result.unbiased_var, (std::vector<double>{0, 0, 0}));
}

}  // namespace
}  // namespace samplenorm
