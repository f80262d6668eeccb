#include "core/testing.h"
#include "samplers/testing.h"

namespace samplenorm {
namespace {

TEST(BatchSampling, TakesConsecutiveRealRowsWithAllTheirPoints) {
  const Shape shape = {2, 128, 2, 5, 7};
  for (uint64_t layer = 0; layer < 100; ++layer) {
    const Box box = box_of("BS-4/128", shape, {.layer = layer});
    EXPECT_EQ(box.rows.size(), 4);
    EXPECT_EQ(box, shape.all_points_of({box.rows.begin, box.rows.begin + 4}));
    EXPECT_GE(box.rows.begin, 2);
    EXPECT_LE(box.rows.end, 130);
  }
}

TEST(BatchSampling, TakesTheRatioOfTheBatchAtHand) {
  EXPECT_EQ(box_of("BS-4/128", {0, 32, 1, 1, 2}).rows.size(), 1);
  EXPECT_EQ(box_of("BS-4/128", {0, 2, 1, 1, 2}).rows.size(), 1);
  EXPECT_EQ(box_of("BS-4/128", {0, 256}).rows.size(), 8);
  EXPECT_EQ(box_of("BS-1/1", {3, 9}).rows, (Range{3, 12}));
}

TEST(BatchSampling, TakesTwoRowsOfAFullyConnectedLayerAtLeast) {
  EXPECT_EQ(box_of("BS-4/128", {0, 32}).rows.size(), 2);
  EXPECT_EQ(box_of("BS-4/128", {3, 2}).rows, (Range{3, 5}));
  EXPECT_EQ(box_of("BS-4/128", {0, 1}).rows.size(), 1);
  EXPECT_EQ(box_of("BS-4/128;least=1", {0, 32}).rows.size(), 1);
}

TEST(BatchSampling, BeginsAtEveryRowWithEqualChance) {
  const Shape shape = {3, 32, 1, 2, 2};  // 4 of 32 rows: 29 places
  std::vector<int64_t> begins(29);
  for (uint64_t layer = 0; layer < 100; ++layer)
    for (uint64_t epoch = 0; epoch < 100; ++epoch)
      ++begins.at(static_cast<size_t>(box_of("BS-4/32", shape, {.layer = layer, .epoch = epoch}).rows.begin - 3));
  EXPECT_TRUE(looks_uniform(begins));
}

TEST(BatchSampling, BeginsOfNeighbouringLayersAndEpochsAreIndependent) {
  const Shape shape = {0, 8, 1, 2, 2};  // 5 places
  const auto begin = [&](uint64_t layer, uint64_t epoch) {
    return box_of("BS-4/8", shape, {.layer = layer, .epoch = epoch}).rows.begin;
  };
  std::vector<int64_t> layers(25), epochs(25);
  for (uint64_t layer = 0; layer < 50; ++layer)
    for (uint64_t epoch = 0; epoch < 100; ++epoch) {
      ++layers.at(static_cast<size_t>(begin(layer, epoch) * 5 + begin(layer + 1, epoch)));
      ++epochs.at(static_cast<size_t>(begin(layer, epoch) * 5 + begin(layer, epoch + 1)));
    }
  EXPECT_TRUE(looks_uniform(layers));
  EXPECT_TRUE(looks_uniform(epochs));
}

}  // namespace
}  // namespace samplenorm
