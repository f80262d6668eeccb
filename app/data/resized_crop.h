#pragma once

// Photographs: a region of any size is made side x side by bilinear interpolation with antialiasing, i.e. a triangle
// filter that widens with the reduction, first along rows, then along columns, in float32.

#include "data/data_set.h"
#include "data/keyed_random.h"
#include "data/normalizer.h"

namespace samplenorm::data {

/// A part of an image, in its pixels; edges may lie between pixels.
struct Region {
  double top = 0;
  double left = 0;
  double height = 0;
  double width = 0;
};

/// For training: 8 to 100 % of the area with sides of 3:4 to 4:3, anywhere; whole pixels.
Region draw_region(KeyedRandom& random, int64_t height, int64_t width);

/// For evaluation: the centre, side x side, of the image with its shorter side made `shorter` long.
Region centre_region(int64_t height, int64_t width, int64_t shorter, int64_t side);

/// Writes the region as side x side x channels floats. `cut`: pixels outside the region are not looked at, as if the
/// image had been cut before it was resized.
void write_region(const Image& image, const Region& region, bool cut, bool flipped, int64_t side,
                  const Normalizer& normalizer, float* to);

}  // namespace samplenorm::data
