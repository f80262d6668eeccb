#include "core/runs.h"

#include <gtest/gtest.h>

#include "core/points.h"

namespace samplenorm {
namespace {

const Shape kShape{1, 5, 2, 6, 40};
const Range kAllRows{0, 6};

/// (row, point) of every point, by the boxes and by the runs.
std::vector<std::pair<int64_t, int64_t>> points_of(const Group& group) {
  std::vector<std::pair<int64_t, int64_t>> points;
  for_each_point(group, kShape.height, kShape.width, [&](int64_t n, int64_t s) { points.emplace_back(n, s); });
  return points;
}
std::vector<std::pair<int64_t, int64_t>> points_of(const std::vector<Run>& runs) {
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const Run& run : runs) {
    EXPECT_EQ(run.first, static_cast<int64_t>(points.size()));
    EXPECT_LE(run.count, kLongestRun);
    for (int64_t i = 0; i < run.count; ++i) points.emplace_back(run.row, run.point + i * run.step);
  }
  return points;
}

TEST(Runs, VisitThePointsOfTheBoxesInTheirOrder) {
  const Range some_rows{1, 6, 2};
  for (const Range& depths : {Range{0, 2}, Range{1, 2}})
    for (const Range& heights : {Range{0, 6}, Range{2, 5}, Range{1, 6, 2}})
      for (const Range& widths : {Range{0, 40}, Range{3, 9}, Range{2, 40, 8}, Range{7, 8}}) {
        const Group group{1, {{some_rows, depths, heights, widths}, {{0, 1}, {0, 1}, {5, 6}, {39, 40}}}};
        EXPECT_EQ(points_of(runs_of(group, kShape)), points_of(group));
      }
}

TEST(Runs, AreAsFewAsTheMemoryAllows) {
  const auto runs = [](const Box& box) { return runs_of({1, {box}}, kShape).size(); };
  EXPECT_EQ(runs({kAllRows, {0, 2}, {0, 6}, {0, 40}}), 6U);   // whole maps: one a row
  EXPECT_EQ(runs({kAllRows, {0, 2}, {1, 4}, {0, 40}}), 12U);  // whole lines: one a row and depth
  EXPECT_EQ(runs({kAllRows, {0, 2}, {1, 4}, {0, 39}}), 36U);  // a patch: one a line
  EXPECT_EQ(runs({kAllRows, {0, 2}, {0, 6, 2}, {0, 40}}), 36U);
}

TEST(Runs, AreDividedWhereTheyAreTooLong) {
  const Shape shape{0, 2, 1, 50, 50};
  const auto runs = runs_of({1, {{{0, 2}, {0, 1}, {0, 50}, {0, 50}}}}, shape);
  ASSERT_EQ(runs.size(), 6U);
  EXPECT_EQ(runs[1], (samplenorm::Run{0, kLongestRun, kLongestRun, 1, kLongestRun}));
  EXPECT_EQ(runs[2], (samplenorm::Run{0, 2 * kLongestRun, 2500 - 2 * kLongestRun, 1, 2 * kLongestRun}));
}

TEST(Runs, KnowAGroupOfEverything) {
  const Box all{kAllRows, {0, 2}, {0, 6}, {0, 40}};
  EXPECT_TRUE(is_everything({1, {all}}, kShape));
  EXPECT_FALSE(is_everything({1, {all, all}}, kShape));
  for (const auto part : {&Box::rows, &Box::depths, &Box::heights, &Box::widths}) {
    Box less = all;
    ++(less.*part).begin;
    EXPECT_FALSE(is_everything({1, {less}}, kShape));
    less = all;
    (less.*part).step = 2;
    EXPECT_FALSE(is_everything({1, {less}}, kShape));
  }
}

}  // namespace
}  // namespace samplenorm
