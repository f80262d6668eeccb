#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/goals.h"
#include "bench/measurement.h"

namespace samplenorm::cli {

/// Every measurement with its quartiles and, under "speed_against", its speed in units of the limit's, libtorch's, our
/// exact norm's (by the same path) and the fastest oneDNN's: null where there is nothing to compare with.
nlohmann::json measurement_records(const bench::Measurements& all);
nlohmann::json goal_records(const std::vector<bench::Goal>& goals);

}  // namespace samplenorm::cli
