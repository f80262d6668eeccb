#include "data/png.h"

#include <fmt/format.h>
#include <png.h>

#include "data/photograph.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

/// Frees what libpng keeps, also when an exception passes.
struct PngReader {
  png_image image = {};
  PngReader() { image.version = PNG_IMAGE_VERSION; }
  ~PngReader() { png_image_free(&image); }
};

}  // namespace

bool is_png(const std::vector<uint8_t>& content) {
  return content.size() >= 8 && png_sig_cmp(content.data(), 0, 8) == 0;
}

Image decode_png(const std::vector<uint8_t>& content, const std::string& name) {
  PngReader reader;
  const auto fail = [&] {
    throw Error(fmt::format("{}: expected a whole PNG image, but: {}", name, reader.image.message));
  };
  if (png_image_begin_read_from_memory(&reader.image, content.data(), content.size()) == 0) fail();
  check_pixels(reader.image.height, reader.image.width, name);
  reader.image.format = PNG_FORMAT_RGB;
  reader.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // else 16 bits without a gamma would count as linear
  Image result{reader.image.height, reader.image.width, 3, std::vector<uint8_t>(PNG_IMAGE_SIZE(reader.image))};
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&reader.image, &white, result.bytes.data(), 0, nullptr) == 0) fail();
  return result;
}

}  // namespace samplenorm::data
