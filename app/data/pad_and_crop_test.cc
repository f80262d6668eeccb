#include "data/pad_and_crop.h"

#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "data/testing.h"

namespace samplenorm::data {
namespace {

const std::vector<double> kMean{0.5, 0.4, 0.3}, kDeviation{0.25, 0.2, 0.3};

/// One value as the words of the header have it: pad, cut, flip.
double expected(const Image& image, const Window& window, int64_t y, int64_t x, int64_t c) {
  if (window.flipped) x = image.width - 1 - x;
  y += window.top;
  x += window.left;
  if (y < 0 || x < 0 || y >= image.height || x >= image.width) return 0;
  const double value = image.bytes[static_cast<size_t>((y * image.width + x) * image.channels + c)] / 255.0;
  return (value - kMean[static_cast<size_t>(c)]) / kDeviation[static_cast<size_t>(c)];
}

TEST(PadAndCropTest, EveryWindowEqualsThePlainDefinition) {
  Image image{7, 7, 3, {}};
  for (int i = 0; i < 7 * 7 * 3; ++i) image.bytes.push_back(static_cast<uint8_t>(i * 37));
  const Normalizer normalizer(kMean, kDeviation, 7);
  for (int64_t top = -4; top <= 4; ++top) {
    for (int64_t left = -4; left <= 4; ++left) {
      for (const bool flipped : {false, true}) {
        const Window window{top, left, flipped};
        std::vector<float> found(image.bytes.size(), -99);
        write_window(image, window, normalizer, found.data());
        for (int64_t i = 0; i < 7 * 7 * 3; ++i) {
          ASSERT_NEAR(found[static_cast<size_t>(i)], expected(image, window, i / 21, i / 3 % 7, i % 3), 1e-5)
              << top << " " << left << " " << flipped << " at " << i;
        }
      }
    }
  }
}

TEST(PadAndCropTest, AllWindowsAreDrawnAboutEquallyOften) {
  std::map<std::tuple<int64_t, int64_t, bool>, int> counts;
  for (uint64_t index = 0; index < 16200; ++index) {
    KeyedRandom random(Purpose::kAugmentation, {1, 2, index});
    const Window window = draw_window(random);
    ++counts[{window.top, window.left, window.flipped}];
  }
  EXPECT_EQ(counts.size(), 9 * 9 * 2u);
  for (const auto& [window, count] : counts) {
    EXPECT_LE(std::abs(std::get<0>(window)), 4);
    EXPECT_LE(std::abs(std::get<1>(window)), 4);
    EXPECT_NEAR(count, 100, 50);  // five deviations
  }
}

TEST(PadAndCropTest, EveryPartOfTheKeyChangesTheDraw) {
  const auto first = [](std::initializer_list<uint64_t> key) {
    return KeyedRandom(Purpose::kAugmentation, key).next();
  };
  const std::set<uint64_t> draws{first({0, 0, 0}), first({1, 0, 0}), first({0, 1, 0}), first({0, 0, 1}),
                                 KeyedRandom(Purpose::kOrder, {0, 0, 0}).next()};
  EXPECT_EQ(draws.size(), 5u);
  EXPECT_EQ(first({3, 4, 5}), first({3, 4, 5}));
}

TEST(NormalizerTest, ADeviationOfZeroIsAnError) {
  expect_error([] { Normalizer({0.5}, {0.0}, 4); }, {"channel 0", "above 0"});
}

}  // namespace
}  // namespace samplenorm::data
