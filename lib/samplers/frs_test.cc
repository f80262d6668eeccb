#include <set>

#include "core/testing.h"
#include "samplers/testing.h"

namespace samplenorm {
namespace {

TEST(FullyRandom, DrawsDistinctRealPointsAsManyAsTheRatioAsks) {
  const Shape shape = {2, 8, 2, 5, 7};
  for (const auto& [notation, count] : {std::pair("FRS-1/32", 18), std::pair("FRS-1/2", 280), std::pair("FRS-1/1", 560),
                                        std::pair("FRS-1/1000000", 2), std::pair("FRS-1/1000000;least=1", 1)}) {
    const auto points = points_of(group_of(notation, shape));
    EXPECT_EQ(points.size(), static_cast<size_t>(count));
    EXPECT_EQ(std::set(points.begin(), points.end()).size(), points.size());
    for (const Point& point : points) EXPECT_GE(point[0], 2);
  }
}

TEST(FullyRandom, DrawsEveryPointWithEqualChance) {
  const Shape shape = {1, 2, 3, 2, 4};
  std::vector<int64_t> counts(48);
  for (uint64_t layer = 0; layer < 100; ++layer)
    for (uint64_t epoch = 0; epoch < 100; ++epoch)
      for (const auto& [n, d, h, w] : points_of(group_of("FRS-1/48;least=1", shape, {.layer = layer, .epoch = epoch})))
        ++counts.at(static_cast<size_t>((((n - 1) * 3 + d) * 2 + h) * 4 + w));
  EXPECT_TRUE(looks_uniform(counts));
}

}  // namespace
}  // namespace samplenorm
