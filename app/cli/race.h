#pragma once

// The demo's contest: networks that differ in their norm only learn the same batches in turns, a few steps each, so
// that whatever else the machine does slows all of them alike.

#include <string>
#include <vector>

#include "bench/quartiles.h"
#include "data/data_set.h"
#include "train/recipe.h"

namespace samplenorm::cli {

struct RaceResult {
  std::string norm;
  double test_accuracy = 0;  ///< from 0 to 1
  double training_loss = 0;  ///< mean over the last quarter of the steps
  double images_per_second = 0;
  double relative_speed = 1;  ///< to the first norm: the median of the steps' ratios
  bench::Quartiles step_seconds;
  std::vector<double> losses;  ///< of every step
};

/// Trains by the recipe, once with each norm in the place of its own, and tests; shows its progress on stderr. Throws
/// Error.
std::vector<RaceResult> race(const train::Recipe& recipe, const std::vector<std::string>& norms,
                             const data::DataSet& set);

}  // namespace samplenorm::cli
