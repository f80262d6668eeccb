#pragma once

#include <string>
#include <vector>

namespace samplenorm::train {

/// The one of `names` (not empty) with the fewest letters to change, add or take away to get `name`.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

}  // namespace samplenorm::train
