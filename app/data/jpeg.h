#pragma once

#include <string>
#include <vector>

#include "data/data_set.h"

namespace samplenorm::data {

/// RGB, whatever the file has (grey, CMYK). Decoded at n/8 of its size with the smallest n that keeps the shorter side
/// at `least_side` or above; never enlarged. Throws Error, which names `name`; pixels that are missing or damaged are
/// an error too.
Image decode_jpeg(const std::vector<uint8_t>& content, const std::string& name, int64_t least_side);

bool is_jpeg(const std::vector<uint8_t>& content);

}  // namespace samplenorm::data
