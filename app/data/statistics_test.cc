#include "data/statistics.h"

#include <cmath>

#include "data/memory_images.h"
#include "data/testing.h"

namespace samplenorm::data {
namespace {

TEST(StatisticsTest, MeanAndDeviationAreThoseOfEachChannel) {
  const MemoryImages set(1, 2, 2, {0, 10, 255, 20, 255, 30, 0, 40}, {0, 1});
  const auto found = channel_statistics(set, 2);
  EXPECT_DOUBLE_EQ(found.mean[0], 0.5);
  EXPECT_DOUBLE_EQ(found.deviation[0], 0.5);
  EXPECT_DOUBLE_EQ(found.mean[1], 25 / 255.0);
  EXPECT_DOUBLE_EQ(found.deviation[1], std::sqrt(125) / 255);
  expect_error([&] { channel_statistics(set, 3); }, {"image 0: expected 3 channels, found 2"});
  expect_error([] { channel_statistics(MemoryImages(1, 1, 1, {}, {}), 1); }, {"found none"});
}

TEST(StatisticsTest, CountsAreOfEachClass) {
  const MemoryImages set(1, 1, 1, {0, 0, 0, 0}, {2, 0, 2, 2});
  EXPECT_EQ(class_counts(set, 4), (std::vector<int64_t>{1, 0, 3, 0}));
}

TEST(StatisticsTest, TheDigestIsOfLabelsAndPlanes) {
  // printf '\001adbecf' | sha256sum
  const MemoryImages set(1, 2, 3, {'a', 'b', 'c', 'd', 'e', 'f'}, {1});
  EXPECT_EQ(half_digest(set), "960eea6824dbe36099c562c4b4d6c8c68614c27006362d1fe26854b95944dd65");
  const MemoryImages other(1, 2, 3, {'a', 'b', 'c', 'd', 'e', 'f'}, {2});
  EXPECT_NE(half_digest(other), half_digest(set));
}

}  // namespace
}  // namespace samplenorm::data
