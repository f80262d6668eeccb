#pragma once

// Small images: a window of the image's own size, moved by up to 4 pixels over the borders, maybe flipped. What is
// outside the image is 0 after normalization, the mean colour.

#include "data/data_set.h"
#include "data/keyed_random.h"
#include "data/normalizer.h"

namespace samplenorm::data {

inline constexpr int64_t kPadding = 4;

struct Window {
  int64_t top = 0;   ///< -4 to 4, in the image's rows
  int64_t left = 0;  ///< -4 to 4
  bool flipped = false;
};

Window draw_window(KeyedRandom& random);

/// Writes the window: image.height x image.width x channels floats.
void write_window(const Image& image, const Window& window, const Normalizer& normalizer, float* to);

}  // namespace samplenorm::data
