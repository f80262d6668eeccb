#pragma once

#include <string>
#include <vector>

#include "data/data_set.h"

namespace samplenorm::data {

/// RGB, whatever the file has: grey is repeated, transparent parts are shown on white. Throws Error, which names
/// `name`.
Image decode_png(const std::vector<uint8_t>& content, const std::string& name);

bool is_png(const std::vector<uint8_t>& content);

}  // namespace samplenorm::data
