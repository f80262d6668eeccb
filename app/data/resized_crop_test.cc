#include "data/resized_crop.h"

#include <cmath>

#include "data/testing.h"

namespace samplenorm::data {
namespace {

constexpr int64_t kSide = 20;
const Normalizer kBytes({0, 0, 0}, {1 / 255.0, 1 / 255.0, 1 / 255.0}, kSide);

Image noisy_image(int64_t height, int64_t width) {
  Image image{height, width, 3, {}};
  KeyedRandom random(Purpose::kSynthetic, {1});
  for (int64_t i = 0; i < height * width * 3; ++i) image.bytes.push_back(static_cast<uint8_t>(random.below(256)));
  return image;
}

std::vector<float> written(const Image& image, const Region& region, bool cut, bool flipped = false) {
  std::vector<float> values(kSide * kSide * 3, -99);
  write_region(image, region, cut, flipped, kSide, kBytes, values.data());
  return values;
}

/// A point by the definition: the triangle filter over all pixels of the image, or of the region.
double expected(const Image& image, const Region& region, bool cut, int64_t y, int64_t x, int64_t c) {
  const double down = region.height / kSide, across = region.width / kSide;
  const double at_y = region.top + (static_cast<double>(y) + 0.5) * down;
  const double at_x = region.left + (static_cast<double>(x) + 0.5) * across;
  double sum = 0, weights = 0;
  for (int64_t py = 0; py < image.height; ++py) {
    for (int64_t px = 0; px < image.width; ++px) {
      const double my = static_cast<double>(py) + 0.5, mx = static_cast<double>(px) + 0.5;
      const bool outside =
          my < region.top || my > region.top + region.height || mx < region.left || mx > region.left + region.width;
      if (cut && outside) continue;
      const double weight = std::max(0.0, 1 - std::abs(my - at_y) / std::max(down, 1.0)) *
                            std::max(0.0, 1 - std::abs(mx - at_x) / std::max(across, 1.0));
      sum += weight * image.bytes[static_cast<size_t>((py * image.width + px) * 3 + c)];
      weights += weight;
    }
  }
  return sum / weights;
}

TEST(ResizedCropTest, EveryPointEqualsThePlainDefinition) {
  const Image image = noisy_image(50, 61);
  for (const Region& region : {Region{0, 0, 50, 61}, Region{7, 11, 31, 40}, Region{3, 50, 9, 11}, Region{49, 60, 1, 1},
                               Region{2.5, 3.25, 44.5, 44.5}}) {
    for (const bool cut : {false, true}) {
      if (cut && region.top != std::floor(region.top)) continue;  // only whole pixels are cut
      const auto values = written(image, region, cut);
      for (int64_t i = 0; i < kSide * kSide * 3; i += 7) {
        ASSERT_NEAR(values[static_cast<size_t>(i)], expected(image, region, cut, i / 3 / kSide, i / 3 % kSide, i % 3),
                    1e-2)
            << region.top << " " << cut << " " << i;
      }
    }
  }
}

TEST(ResizedCropTest, ARegionOfTheInputsOwnSizeIsTakenAsItIs) {
  const Image image = noisy_image(30, 30);
  const auto values = written(image, {4, 5, kSide, kSide}, true);
  for (int64_t y = 0; y < kSide; ++y) {
    for (int64_t i = 0; i < kSide * 3; ++i) {
      ASSERT_NEAR(values[static_cast<size_t>(y * kSide * 3 + i)],
                  image.bytes[static_cast<size_t>((y + 4) * 90 + 15 + i)], 1e-3);
    }
  }
}

TEST(ResizedCropTest, FlippingReversesTheColumns) {
  const Image image = noisy_image(50, 61);
  const Region region{7, 11, 31, 40};
  const auto plain = written(image, region, true), flipped = written(image, region, true, true);
  for (int64_t y = 0; y < kSide; ++y) {
    for (int64_t x = 0; x < kSide; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        EXPECT_EQ(flipped[static_cast<size_t>((y * kSide + x) * 3 + c)],
                  plain[static_cast<size_t>((y * kSide + kSide - 1 - x) * 3 + c)]);
      }
    }
  }
}

TEST(ResizedCropTest, DrawnRegionsKeepTheirBoundsAndCoverThem) {
  double least = 1, most = 0, sum = 0;
  constexpr int kDraws = 4000;
  for (uint64_t index = 0; index < kDraws; ++index) {
    KeyedRandom random(Purpose::kAugmentation, {0, 0, index});
    const Region region = draw_region(random, 300, 400);
    ASSERT_GE(std::min(region.top, region.left), 0);
    ASSERT_LE(region.top + region.height, 300);
    ASSERT_LE(region.left + region.width, 400);
    const double ratio = region.width / region.height;
    ASSERT_GT(ratio, 0.74);
    ASSERT_LT(ratio, 1.35);
    const double area = region.width * region.height / (300 * 400);
    least = std::min(least, area);
    most = std::max(most, area);
    sum += area;
  }
  EXPECT_NEAR(least, 0.08, 0.01);
  EXPECT_GT(most, 0.9);
  // Not 0.54: of the large areas only those come through whose ratio fits. The integral gives 0.432.
  EXPECT_NEAR(sum / kDraws, 0.432, 0.02);
}

TEST(ResizedCropTest, ALongImageGivesItsCentre) {
  KeyedRandom random(Purpose::kAugmentation, {0, 0, 0});
  const Region region = draw_region(random, 3, 4000);
  EXPECT_EQ(region.height, 3);
  EXPECT_EQ(region.width, 4);
  EXPECT_EQ(region.left, 1998);
}

TEST(ResizedCropTest, TheCentreIsTakenAsAfterResizing) {
  const Region region = centre_region(512, 1024, 256, 224);  // resized to 256 x 512
  EXPECT_DOUBLE_EQ(region.top, 32);
  EXPECT_DOUBLE_EQ(region.left, 288);
  EXPECT_DOUBLE_EQ(region.height, 448);
  EXPECT_DOUBLE_EQ(region.width, 448);
}

}  // namespace
}  // namespace samplenorm::data
