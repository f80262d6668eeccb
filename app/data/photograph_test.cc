#include "data/photograph.h"

#include <algorithm>
#include <cstdlib>

#include "data/testing.h"

namespace samplenorm::data {
namespace {

int largest_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.bytes.size(), b.bytes.size());
  int largest = 0;
  for (size_t i = 0; i < std::min(a.bytes.size(), b.bytes.size()); ++i) {
    largest = std::max(largest, std::abs(a.bytes[i] - b.bytes[i]));
  }
  return largest;
}

Image repeated(const Image& grey) {
  Image image{grey.height, grey.width, 3, {}};
  for (const uint8_t value : grey.bytes) image.bytes.insert(image.bytes.end(), 3, value);
  return image;
}

TEST(PhotographTest, PngIsDecodedWithoutLoss) {
  const Image image = smooth_image(9, 13);
  const Image decoded = decode_photograph(png_content(image), "a.png", 4);
  EXPECT_EQ(decoded.height, 9);
  EXPECT_EQ(decoded.width, 13);
  EXPECT_EQ(decoded.bytes, image.bytes);
}

TEST(PhotographTest, GreyBecomesRgb) {
  const Image grey = smooth_image(16, 24, 1);
  EXPECT_EQ(decode_photograph(png_content(grey), "a.png", 0).bytes, repeated(grey).bytes);
  const Image decoded = decode_photograph(jpeg_content(grey), "a.jpg", 0);
  EXPECT_EQ(decoded.channels, 3);
  EXPECT_LE(largest_difference(decoded, repeated(grey)), 4);
}

TEST(PhotographTest, JpegIsDecodedWithItsColours) {
  const Image image = smooth_image(40, 56);
  const Image decoded = decode_photograph(jpeg_content(image), "a.jpg", 0);
  EXPECT_EQ(decoded.height, 40);
  EXPECT_EQ(decoded.width, 56);
  EXPECT_LE(largest_difference(decoded, image), 8);
}

TEST(PhotographTest, CmykBecomesRgb) {
  Image cmyk{8, 8, 4, {}};
  for (int i = 0; i < 64; ++i) cmyk.bytes.insert(cmyk.bytes.end(), {200, 100, 50, 128});
  const Image decoded = decode_photograph(jpeg_content(cmyk), "a.jpg", 0);
  ASSERT_EQ(decoded.channels, 3);
  EXPECT_NEAR(decoded.bytes[0], 100, 3);
  EXPECT_NEAR(decoded.bytes[1], 50, 3);
  EXPECT_NEAR(decoded.bytes[2], 25, 3);
}

TEST(PhotographTest, JpegIsScaledDownToTheLeastSideButNotBelowAndNeverUp) {
  const auto content = jpeg_content(smooth_image(400, 640));
  for (const auto& [least_side, height] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 50}, {50, 50}, {51, 100}, {224, 250}, {351, 400}, {1000, 400}}) {
    const Image decoded = decode_photograph(content, "a.jpg", least_side);
    EXPECT_EQ(decoded.height, height) << least_side;
    EXPECT_EQ(decoded.width, height * 8 / 5) << least_side;
    EXPECT_LE(largest_difference(decoded, smooth_image(decoded.height, decoded.width)), 10) << least_side;
  }
}

TEST(PhotographTest, DamagedFilesAreErrorsThatNameThem) {
  for (const auto& content : {jpeg_content(smooth_image(64, 64)), png_content(smooth_image(64, 64))}) {
    for (const size_t kept : {size_t{8}, content.size() / 2, content.size() - 20}) {
      const std::vector<uint8_t> cut(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(kept));
      expect_error([&] { decode_photograph(cut, "cut", 0); }, {"cut: expected a whole"});
    }
  }
  auto wrong_sum = png_content(smooth_image(64, 64));
  wrong_sum[wrong_sum.size() / 2] ^= 0x55;
  expect_error([&] { decode_photograph(wrong_sum, "bits", 0); }, {"bits: expected a whole PNG"});
  expect_error([&] { decode_photograph({'G', 'I', 'F', '8'}, "a.gif", 0); }, {"a.gif: expected a JPEG or PNG"});
  expect_error([&] { decode_photograph({}, "empty", 0); }, {"empty: expected a JPEG or PNG"});
}

TEST(PhotographTest, AHeaderThatAsksForTooMuchMemoryIsAnError) {
  expect_error([] { check_pixels(1 << 20, 1 << 20, "huge.png"); }, {"huge.png", "at most"});
  EXPECT_NO_THROW(check_pixels(10000, 10000, "large.png"));
}

}  // namespace
}  // namespace samplenorm::data
