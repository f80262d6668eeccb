#include "train/schedule.h"

#include <cmath>
#include <numbers>

namespace samplenorm::train {

double rate_at(const Recipe& recipe, int64_t step, int64_t steps_per_epoch) {
  double rate = recipe.rate;
  if (recipe.rate_batch > 0) rate *= static_cast<double>(recipe.batch) / static_cast<double>(recipe.rate_batch);

  const int64_t total = recipe.epochs * steps_per_epoch;
  const auto rising = static_cast<int64_t>(std::lround(recipe.warm_up * static_cast<double>(total)));
  if (step < rising) return rate * static_cast<double>(step + 1) / static_cast<double>(rising);

  if (recipe.schedule == "steps") {
    for (const int64_t epoch : recipe.milestones)
      if (step >= epoch * steps_per_epoch) rate /= 10;
    return rate;
  }
  const double left = static_cast<double>(total - step) / static_cast<double>(total - rising);  // from 1 down to 0
  if (recipe.schedule == "one-cycle") return rate * left;
  return rate * (1 - std::cos(std::numbers::pi * left)) / 2;
}

}  // namespace samplenorm::train
