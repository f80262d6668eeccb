#include "data/photograph.h"

#include <fmt/format.h>

#include "data/jpeg.h"
#include "data/png.h"
#include "samplenorm/error.h"

namespace samplenorm::data {

Image decode_photograph(const std::vector<uint8_t>& content, const std::string& name, int64_t least_side) {
  if (is_jpeg(content)) return decode_jpeg(content, name, least_side);
  if (is_png(content)) return decode_png(content, name);
  throw Error(fmt::format("{}: expected a JPEG or PNG image, found something else", name));
}

void check_pixels(int64_t height, int64_t width, const std::string& name) {
  constexpr int64_t kMostPixels = int64_t{1} << 27;
  if (height * width > kMostPixels) {
    throw Error(fmt::format("{}: expected at most {} pixels, found {} x {}", name, kMostPixels, height, width));
  }
}

}  // namespace samplenorm::data
