#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace samplenorm::record {

/// Of runs of one norm with one seed at several learning rates: the rate of the most accurate one (of equal ones the
/// highest). A run that broke off counts as the least accurate.
double own_rate(const std::vector<nlohmann::json>& runs);

}  // namespace samplenorm::record
