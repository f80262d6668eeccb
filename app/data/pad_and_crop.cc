#include "data/pad_and_crop.h"

#include <algorithm>
#include <cstdlib>

namespace samplenorm::data {

Window draw_window(KeyedRandom& random) {
  const int64_t top = random.below(2 * kPadding + 1) - kPadding;
  const int64_t left = random.below(2 * kPadding + 1) - kPadding;
  return {top, left, random.below(2) == 1};
}

void write_window(const Image& image, const Window& window, const Normalizer& normalizer, float* to) {
  const int64_t channels = image.channels, row_values = image.width * channels;
  // The columns of the window that the image has.
  const int64_t first = std::max<int64_t>(0, window.left);
  const int64_t count = std::max<int64_t>(0, image.width - std::abs(window.left));
  const int64_t unflipped_begin = std::max<int64_t>(0, -window.left);
  const int64_t begin = window.flipped ? image.width - unflipped_begin - count : unflipped_begin;
  std::vector<uint8_t> reversed(window.flipped ? static_cast<size_t>(row_values) : 0);

  for (int64_t y = 0; y < image.height; ++y, to += row_values) {
    const int64_t source = y + window.top;
    if (source < 0 || source >= image.height) {
      std::fill(to, to + row_values, 0.0f);
      continue;
    }
    const uint8_t* from = image.bytes.data() + source * row_values + first * channels;
    if (window.flipped) {
      for (int64_t x = 0; x < count; ++x) {
        for (int64_t c = 0; c < channels; ++c) {
          reversed[static_cast<size_t>(x * channels + c)] = from[(count - 1 - x) * channels + c];
        }
      }
      from = reversed.data();
    }
    std::fill(to, to + begin * channels, 0.0f);
    normalizer.run(from, count * channels, to + begin * channels);
    std::fill(to + (begin + count) * channels, to + row_values, 0.0f);
  }
}

}  // namespace samplenorm::data
