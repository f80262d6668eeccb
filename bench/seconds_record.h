#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/measurement.h"

namespace samplenorm::bench {

/// The quartiles, "q1", "median", "q3", and all "values". `seconds` must not be empty.
nlohmann::json spread(const std::vector<double>& seconds);

/// "rounds", and the spreads of "forward", "backward" and "both".
nlohmann::json phase_spreads(const Seconds& seconds);

}  // namespace samplenorm::bench
