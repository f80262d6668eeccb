#include "data/framer.h"

#include <fmt/format.h>

#include "data/pad_and_crop.h"
#include "data/resized_crop.h"
#include "samplenorm/error.h"

namespace samplenorm::data {
namespace {

/// For evaluation the shorter side becomes 8/7 of the input's: 256 for 224.
int64_t shorter_side(int64_t side) { return side * 8 / 7; }

}  // namespace

Framer::Framer(const DataSet& set, bool training)
    : framing_(set.framing), training_(training), side_(set.side), normalizer_(set.mean, set.deviation, set.side) {
  if (normalizer_.channels() != set.channels) {
    throw Error(fmt::format("data set {}: expected a mean for each of {} channels, got {}", set.name, set.channels,
                            normalizer_.channels()));
  }
}

int64_t Framer::least_side() const {
  if (framing_ == Framing::kPadAndCrop) return side_;
  // With twice the side a crop of a quarter of the area still has a pixel for each point of the input.
  return training_ ? 2 * side_ : shorter_side(side_);
}

void Framer::write(const Image& image, KeyedRandom random, float* to) const {
  const bool fits = framing_ == Framing::kPadAndCrop ? image.height == side_ && image.width == side_
                                                     : image.height > 0 && image.width > 0;
  if (!fits || image.channels != normalizer_.channels()) {
    throw Error(fmt::format("expected an image of {} x {} with {} channels, found {} x {} with {}", side_, side_,
                            normalizer_.channels(), image.height, image.width, image.channels));
  }
  if (framing_ == Framing::kPadAndCrop) {
    write_window(image, training_ ? draw_window(random) : Window{}, normalizer_, to);
  } else if (training_) {
    const Region region = draw_region(random, image.height, image.width);
    write_region(image, region, true, random.below(2) == 1, side_, normalizer_, to);
  } else {
    const Region region = centre_region(image.height, image.width, shorter_side(side_), side_);
    write_region(image, region, false, false, side_, normalizer_, to);
  }
}

}  // namespace samplenorm::data
