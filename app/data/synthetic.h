#pragma once

// Images that need no files: each class has its own colour and its own stripes, under noise. Integer arithmetic on
// keyed random numbers, so they are the same everywhere.

#include "data/data_set.h"

namespace samplenorm::data {

struct SyntheticOptions {
  int64_t train = 2048;
  int64_t test = 512;
  int64_t classes = 10;  ///< at most 256; labels take turns
  int64_t channels = 3;
  int64_t side = 32;
  uint64_t seed = 0;
};

/// Throws Error.
DataSet make_synthetic(const SyntheticOptions& options);

}  // namespace samplenorm::data
