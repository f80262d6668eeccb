#pragma once

#include "data/data_set.h"
#include "data/keyed_random.h"
#include "data/normalizer.h"

namespace samplenorm::data {

/// Makes the images of a data set into inputs: side x side, normalized, augmented for training. Safe to use from
/// several threads at once; plain loops only, no thread pools.
class Framer {
 public:
  Framer(const DataSet& set, bool training);

  /// What to ask ImageSet::image() for.
  int64_t least_side() const;
  /// Floats of one input.
  int64_t values() const { return side_ * side_ * normalizer_.channels(); }
  /// Writes values() floats, pixels of interleaved channels. Throws Error for an image that does not fit the set.
  void write(const Image& image, KeyedRandom random, float* to) const;

 private:
  Framing framing_;
  bool training_;
  int64_t side_;
  Normalizer normalizer_;
};

}  // namespace samplenorm::data
