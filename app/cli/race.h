#pragma once

// The demo's contest: networks that differ in their norm only learn the same batches in turns, a few steps each, so
// that whatever else the machine does slows all of them alike.

#include <cstdint>
#include <string>
#include <vector>

#include "bench/quartiles.h"
#include "data/fashion_mnist.h"

namespace samplenorm::cli {

struct RaceOptions {
  std::vector<std::string> norms;
  int64_t epochs = 1;
  int64_t batch = 128;
  uint64_t seed = 1;
};

struct RaceResult {
  std::string norm;
  double test_accuracy = 0;  ///< from 0 to 1
  double training_loss = 0;  ///< mean over the last quarter of the steps
  double images_per_second = 0;
  double relative_speed = 1;  ///< to the first norm: the median of the steps' ratios
  bench::Quartiles step_seconds;
};

/// Trains and tests; shows its progress on stderr. Throws Error where there are fewer images than a batch has.
std::vector<RaceResult> race(const RaceOptions& options, const data::FashionMnist& images);

}  // namespace samplenorm::cli
