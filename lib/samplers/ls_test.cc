#include <map>
#include <set>

#include "core/testing.h"
#include "samplers/testing.h"

namespace samplenorm {
namespace {

/// The sampled points of the map, for each row.
std::map<int64_t, std::set<Point>> rows_of(const Group& group) {
  std::map<int64_t, std::set<Point>> rows;
  for (Point point : points_of(group)) {
    const int64_t row = std::exchange(point[0], 0);
    EXPECT_TRUE(rows[row].insert(point).second) << "a point is there twice";
  }
  return rows;
}

TEST(LatticeSampling, TakesEveryEighthPointBothWaysForOneOf64) {
  const Group group = group_of("LS-1/64;least=1", {0, 10, 1, 56, 48});
  ASSERT_EQ(group.boxes.size(), 10U);
  for (const Box& box : group.boxes) {
    EXPECT_EQ(box.rows.size(), 1);
    EXPECT_EQ(box.heights.step, 8);
    EXPECT_EQ(box.widths.step, 8);
    EXPECT_EQ(box.heights.size(), 7);
    EXPECT_EQ(box.widths.size(), 6);
  }
}

TEST(LatticeSampling, SamplesEveryRowOnceAndNeighbouringRowsDifferently) {
  const Shape shapes[] = {{0, 200, 1, 14, 14}, {3, 70, 1, 7, 7}, {2, 5, 1, 32, 32}, {0, 130, 1, 1, 100}};
  for (const Shape& shape : shapes) {
    const auto rows = rows_of(group_of("LS-1/64;least=1", shape));
    ASSERT_EQ(static_cast<int64_t>(rows.size()), shape.rows);
    EXPECT_EQ(rows.begin()->first, shape.virtual_rows);
    EXPECT_EQ(rows.rbegin()->first, shape.all_rows() - 1);
    for (int64_t row = shape.virtual_rows; row + 1 < shape.all_rows(); ++row) {
      EXPECT_FALSE(rows.at(row).empty());
      EXPECT_NE(rows.at(row), rows.at(row + 1));
    }
  }
}

TEST(LatticeSampling, ACellOfRowsVisitsEveryPointOfTheMapOnce) {
  struct Case {
    const char* notation;
    int64_t cell;
    Shape map;
  };
  const Case cases[] = {{"LS-1/64;least=1", 64, {0, 1, 1, 56, 56}}, {"LS-1/64;least=1", 64, {0, 1, 1, 14, 14}},
                        {"LS-1/64;least=1", 49, {0, 1, 1, 7, 7}},   {"LS-1/64;least=1", 45, {0, 1, 1, 5, 9}},
                        {"LS-1/10;least=1", 10, {0, 1, 1, 5, 9}},   {"LS-1/16;least=1", 16, {0, 1, 1, 1, 50}},
                        {"LS-1/8;least=1", 8, {0, 1, 3, 5, 7}},     {"LS-3/64;least=1", 21, {0, 1, 1, 20, 20}},
                        {"LS-1/64;least=1", 30, {0, 1, 2, 3, 5}},   {"LS-1/64;least=1", 1, {0, 1, 1, 1, 1}}};
  for (auto [notation, cell, shape] : cases) {
    shape.virtual_rows = 2;
    shape.rows = 2 * cell;
    const auto rows = rows_of(group_of(notation, shape));
    for (const int64_t begin : {shape.virtual_rows, shape.virtual_rows + cell}) {
      std::map<Point, int64_t> visits;
      for (int64_t row = begin; row < begin + cell; ++row)
        for (const Point& point : rows.at(row)) ++visits[point];
      EXPECT_EQ(static_cast<int64_t>(visits.size()), shape.map_points()) << notation << " " << cell;
      for (const auto& [point, count] : visits) EXPECT_EQ(count, 1) << notation << " " << cell;
    }
  }
}

TEST(LatticeSampling, PutsTheOffsetsOfRowsAnywhereWithEqualChance) {
  const Shape shape = {1, 4, 1, 10, 10};
  std::vector<int64_t> first(16), last(16), pairs(16 * 16);
  const auto offset = [](const Box& box) { return static_cast<size_t>(box.heights.begin * 4 + box.widths.begin); };
  for (uint64_t layer = 0; layer < 100; ++layer)
    for (uint64_t epoch = 0; epoch < 100; ++epoch) {
      const Group group = group_of("LS-1/16;least=1", shape, {.layer = layer, .epoch = epoch});
      ASSERT_EQ(group.boxes.size(), 4U);
      ++first.at(offset(group.boxes[0]));
      ++last.at(offset(group.boxes[3]));
      ++pairs.at(offset(group.boxes[0]) * 16 + offset(group.boxes[1]));
    }
  EXPECT_TRUE(looks_uniform(first));
  EXPECT_TRUE(looks_uniform(last));
  for (size_t i = 16; i-- > 0;) {  // two rows never have the same offset
    EXPECT_EQ(pairs[i * 17], 0);
    pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i * 17));
  }
  EXPECT_TRUE(looks_uniform(pairs));
}

TEST(LatticeSampling, TakesEverythingOfAFullyConnectedLayer) {
  const Shape shape = {1, 32};
  const auto rows = rows_of(group_of("LS-1/64;least=1", shape));
  EXPECT_EQ(rows.size(), 32U);
  EXPECT_DOUBLE_EQ(sampled_fraction(draw(parse("LS-1/64;least=1"), shape, {}), shape), 32.0 / 33);
}

}  // namespace
}  // namespace samplenorm
