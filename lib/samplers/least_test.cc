// `least`: a sample has so many points a channel, where the layer has them, and not many more than it needs.

#include <gtest/gtest.h>

#include <algorithm>

#include "samplers/testing.h"

namespace samplenorm {
namespace {

const std::vector<Shape> kShapes = {
    {0, 1},
    {0, 2},
    {0, 97},  // fully connected
    {0, 1, 1, 1, 13},
    {0, 8, 1, 1, 50},  // sequences
    {0, 1, 1, 1, 2},
    {0, 1, 1, 3, 5},
    {0, 1, 1, 31, 33},  // one image
    {0, 5, 1, 7, 7},
    {2, 5, 1, 7, 7},
    {1, 9, 1, 13, 6},  // odd maps
    {0, 70, 1, 9, 5},
    {3, 70, 1, 9, 5},
    {0, 130, 1, 4, 4},  // more rows than a cell has points
    {0, 1, 3, 4, 5},
    {2, 6, 3, 5, 7},
    {1, 11, 2, 1, 17},  // volumes
    {0, 32, 1, 28, 28},
};
const std::vector<std::string> kMethods = {"NS-1/128", "BS-1/128",  "BS-3/7", "FS-1/64",      "FS-2/5",
                                           "LS-1/64",  "LS-1/6",    "LS-1/3", "LS-1/1000000", "FRS-1/64",
                                           "FRS-2/3",  "NS-1/1000", "LS-1/1"};
const std::vector<int64_t> kLeast = {1, 2, 7, 64, 1024};

std::string with_least(const std::string& method, int64_t least) { return method + ";least=" + std::to_string(least); }

std::string words(const std::string& notation, const Shape& shape) {
  std::string text = notation + " of";
  for (const int64_t size : {shape.virtual_rows, shape.rows, shape.depth, shape.height, shape.width})
    text += " " + std::to_string(size);
  return text;
}

int64_t all_points(const Shape& shape) { return shape.rows * shape.map_points(); }

bool inside(const Point& point, const Shape& shape) {
  const auto& [n, d, h, w] = point;
  return n >= shape.virtual_rows && n < shape.all_rows() && d >= 0 && d < shape.depth && h >= 0 && h < shape.height &&
         w >= 0 && w < shape.width;
}

TEST(Least, IsWhatASampleHasOrTheWholeLayerAndItsBoxesAreDisjointAndInside) {
  for (const Shape& shape : kShapes)
    for (const std::string& method : kMethods)
      for (const int64_t least : kLeast) {
        const std::string notation = with_least(method, least);
        SCOPED_TRACE(words(notation, shape));
        const Spec spec = parse(notation);
        const int64_t most = most_points(spec, shape);
        EXPECT_LE(most, all_points(shape));
        const uint64_t keys = method.starts_with("FRS") ? 3 : 12;
        for (uint64_t key = 0; key < keys; ++key) {
          const Group group = group_of(notation, shape, {.seed = 5, .layer = key, .epoch = 3 * key});
          ASSERT_GE(group.points(), std::min(least, all_points(shape)));
          ASSERT_LE(group.points(), most);
          std::vector<Point> points = points_of(group);
          ASSERT_EQ(std::ssize(points), group.points());
          for (const Point& point : points) ASSERT_TRUE(inside(point, shape));
          std::ranges::sort(points);
          ASSERT_EQ(std::ranges::adjacent_find(points), points.end()) << "a point is there twice";
        }
      }
}

TEST(Least, ChangesNothingWhereTheRatioGivesEnough) {
  for (const Shape& shape : kShapes)
    for (const std::string& method : kMethods)
      for (const int64_t least : kLeast) {
        const Key key = {.seed = 2, .layer = 3, .epoch = 4};
        int64_t fewest = all_points(shape);
        for (uint64_t layer = 0; layer < 200; ++layer)
          fewest = std::min(fewest, group_of(with_least(method, 1), shape, {.layer = layer}).points());
        // Some offset of a lattice may have fewer points than those of 200 draws.
        if (fewest < (method.starts_with("LS") ? 2 : 1) * least) continue;
        EXPECT_EQ(group_of(with_least(method, least), shape, key), group_of(with_least(method, 1), shape, key))
            << words(with_least(method, least), shape);
      }
}

TEST(Least, IsNotExceededByMuchInALargeLayer) {
  const Shape large = {2, 64, 1, 56, 56};
  for (const int64_t least : {64, 500, 1024, 3000, 20'000}) {
    EXPECT_LE(most_points(parse(with_least("FRS-1/1000000", least)), large), least);
    EXPECT_LE(most_points(parse(with_least("LS-1/1000000", least)), large), std::max<int64_t>(2 * least, 256));
    // Whole rows and patches of all rows.
    EXPECT_LE(most_points(parse(with_least("NS-1/1000000", least)), large), least + 56 * 56);
    EXPECT_LE(most_points(parse(with_least("BS-1/1000000", least)), large), least + 56 * 56);
    EXPECT_LE(most_points(parse(with_least("FS-1/1000000", least)), large), least * 17 / 16 + 2 * 64);
  }
}

TEST(Least, OfLatticeSamplingIs1024AndOfThePapersMethods2) {
  const Shape last = {0, 32, 1, 7, 7};  // of a ResNet
  EXPECT_GE(group_of("LS-1/64", last).points(), 1024);
  EXPECT_EQ(group_of("LS-1/64", last), group_of("LS-1/64;least=1024", last));
  EXPECT_EQ(group_of("LS-1/64", {0, 8, 1, 7, 7}).points(), 8 * 49);
  EXPECT_EQ(group_of("FS-1/64", last).points(), 32);
  EXPECT_EQ(group_of("FS-1/64", {0, 1, 1, 7, 7}).points(), 2);
  EXPECT_EQ(group_of("BS-1/128", {0, 32}).points(), 2);
}

TEST(Least, OfAMixConcernsTheRealRows) {
  const Shape shape = {2, 5, 1, 7, 7};
  for (const std::string method : {"NS-1/8", "BS-1/8", "FS-1/64", "LS-1/64"})
    for (const int64_t least : kLeast) {
      const Sample mix = draw(parse(with_least(method + "+VDN-2/128", least)), shape, {});
      ASSERT_EQ(mix.groups.size(), 2U);
      EXPECT_EQ(mix.groups[0].boxes, group_of(with_least(method, least), shape).boxes) << method << " " << least;
      EXPECT_EQ(mix.groups[1].boxes, group_of("VDN-2/128", shape).boxes) << method << " " << least;
    }
}

/// Points of all ranks, each with shape.rows rows, in rows of the whole.
std::vector<Point> pooled(const std::string& notation, const Shape& shape, uint64_t ranks) {
  std::vector<Point> all;
  for (uint64_t rank = 0; rank < ranks; ++rank) {
    Shape part = shape;
    part.first_row = static_cast<int64_t>(rank) * shape.rows;
    const Key key = {.seed = 5, .layer = 1, .rank = rank, .ranks = ranks};
    const Group group = group_of(notation, part, key);
    EXPECT_LE(group.points(), most_points(parse(notation), part, ranks));
    for (Point point : points_of(group)) {
      point[0] += part.first_row;
      all.push_back(point);
    }
  }
  std::ranges::sort(all);
  return all;
}

TEST(Least, OfSeveralProcessesIsOfAllTogetherAndLatticesGiveTheSampleOfOneProcess) {
  const Shape shapes[] = {{0, 1}, {0, 4}, {0, 1, 1, 7, 7}, {0, 4, 1, 9, 6}, {0, 8, 1, 28, 28}, {0, 3, 3, 4, 5}};
  for (const Shape& shape : shapes)
    for (const uint64_t ranks : {2, 3, 4, 8})
      for (const std::string& method : kMethods)
        for (const int64_t least : kLeast) {
          const std::string notation = with_least(method, least);
          SCOPED_TRACE(words(notation, shape) + " on " + std::to_string(ranks));
          Shape whole = shape;
          whole.rows *= static_cast<int64_t>(ranks);
          const std::vector<Point> points = pooled(notation, shape, ranks);
          EXPECT_GE(std::ssize(points), std::min(least, all_points(whole)));
          if (!method.starts_with("LS") && !method.starts_with("FS")) continue;
          std::vector<Point> expected = points_of(group_of(notation, whole, {.seed = 5, .layer = 1}));
          std::ranges::sort(expected);
          EXPECT_EQ(points, expected);
        }
}

TEST(Least, OfFewProcessesIsOfThoseThatContribute) {
  for (const std::string notation : {"BS-1/128;least=64;nodes=1", "BS-1/128;least=64;nodes=1/2"})
    EXPECT_GE(std::ssize(pooled(notation, {0, 16, 1, 3, 5}, 4)), 64) << notation;
}

}  // namespace
}  // namespace samplenorm
