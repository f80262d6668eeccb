#include "core/testing.h"
#include "samplers/testing.h"

namespace samplenorm {
namespace {

TEST(FeatureSampling, TakesOnePatchOfAllRealRows) {
  const Box box = box_of("FS-1/32", {2, 8, 1, 56, 56});
  EXPECT_EQ(box.rows, (Range{2, 10}));
  EXPECT_EQ(box.depths, (Range{0, 1}));
  EXPECT_EQ(box.heights, (Range{box.heights.begin, box.heights.begin + 7}));
  EXPECT_EQ(box.widths, (Range{box.widths.begin, box.widths.begin + 14}));
}

TEST(FeatureSampling, TakesOnePointOfASmallMap) {
  const Sample sample = draw(parse("FS-1/64"), {0, 8, 1, 7, 7}, {});
  EXPECT_EQ(sample.groups[0].points(), 8);
  EXPECT_DOUBLE_EQ(sampled_fraction(sample, {0, 8, 1, 7, 7}), 1.0 / 49);
}

TEST(FeatureSampling, TakesEverythingOfAFullyConnectedLayer) {
  const Shape shape = {0, 32};
  EXPECT_EQ(draw(parse("FS-1/64"), shape, {}), draw(parse("BN"), shape, {}));
}

/// How often a patch begins at each of the places of a map, over many layers and epochs.
std::vector<int64_t> places(const char* notation, const Shape& shape, Point patch) {
  const int64_t depths = shape.depth - patch[1] + 1;
  const int64_t heights = shape.height - patch[2] + 1;
  const int64_t widths = shape.width - patch[3] + 1;
  std::vector<int64_t> counts(static_cast<size_t>(depths * heights * widths));
  for (uint64_t layer = 0; layer < 100; ++layer)
    for (uint64_t epoch = 0; epoch < 100; ++epoch) {
      const Box box = box_of(notation, shape, {.layer = layer, .epoch = epoch});
      const Point size = {shape.rows, box.depths.size(), box.heights.size(), box.widths.size()};
      EXPECT_EQ(size, patch);
      const int64_t place = (box.depths.begin * heights + box.heights.begin) * widths + box.widths.begin;
      ++counts.at(static_cast<size_t>(place));
    }
  return counts;
}

TEST(FeatureSampling, PutsThePatchAtEveryPlaceWithEqualChance) {
  EXPECT_TRUE(looks_uniform(places("FS-1/4", {1, 2, 1, 8, 10}, {2, 1, 4, 5})));
  EXPECT_TRUE(looks_uniform(places("FS-1/4", {1, 2, 1, 10, 8}, {2, 1, 4, 5})));
  EXPECT_TRUE(looks_uniform(places("FS-1/8", {0, 2, 1, 1, 64}, {2, 1, 1, 8})));
  EXPECT_TRUE(looks_uniform(places("FS-1/10", {0, 2, 4, 5, 6}, {2, 2, 2, 3})));
}

}  // namespace
}  // namespace samplenorm
