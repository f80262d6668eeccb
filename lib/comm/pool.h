#pragma once

// What Sync sends: DESIGN, section 2.

#include <span>

#include "core/moments.h"
#include "samplenorm/communicator.h"

namespace samplenorm {

/// Each group's moments become those of its points on all processes, by one collective. A process without points of a
/// group has count 0 there. `contributors` are the processes that have any, as all of them know.
/// What is summed is count, sum and sum of squares, in float64, so that one plain reduction does it. That costs a
/// channel's variance the digits by which the squared mean is larger, of 53 bits.
void pool_moments(Communicator& communicator, std::span<const int> contributors, std::span<WeightedMoments> groups);

}  // namespace samplenorm
