#pragma once

// Times contenders in turns, one after the other in every round, so that whatever else the machine does hits all alike,
// and in another order in each, so that nobody always follows the same one.

#include <vector>

#include "bench/contender.h"
#include "bench/measurement.h"

namespace samplenorm::bench {

struct Effort {
  int rounds;               ///< at least
  double seconds;           ///< at least, for all rounds together
  int repeats;              ///< of a contender in its turn, at least
  double seconds_per_turn;  ///< at least
  int settling_calls;       ///< before them, at most
};
inline constexpr Effort kFullEffort{
    .rounds = 9, .seconds = 1, .repeats = 3, .seconds_per_turn = 3e-3, .settling_calls = 12};
inline constexpr Effort kQuickEffort{
    .rounds = 3, .seconds = 0, .repeats = 1, .seconds_per_turn = 1e-3, .settling_calls = 1};

/// The numbers below `count` in an order of the round's own.
std::vector<size_t> shuffled(size_t count, size_t round);

/// Every round has an order of its own. A contender's turn begins with a call that is not timed; then come repeats, of
/// which the medians count.
std::vector<Seconds> time_in_rounds(const std::vector<Contender*>& contenders, const Effort& effort);

}  // namespace samplenorm::bench
