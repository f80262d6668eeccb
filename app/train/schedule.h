#pragma once

#include <cstdint>

#include "train/recipe.h"

namespace samplenorm::train {

/// The learning rate of a step of the run, from 0: a function of the recipe and the step only, so that a resumed run
/// has the same.
double rate_at(const Recipe& recipe, int64_t step, int64_t steps_per_epoch);

}  // namespace samplenorm::train
