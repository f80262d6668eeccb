#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace samplenorm::study {

/// "steps" and "losses", two lists of the same length: at most a hundred means over equally many steps each, and the
/// numbers of the steps, from 1, with which they end.
nlohmann::json loss_curve(const std::vector<double>& losses);

}  // namespace samplenorm::study
