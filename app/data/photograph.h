#pragma once

#include <string>
#include <vector>

#include "data/data_set.h"

namespace samplenorm::data {

/// A JPEG or PNG image, known by its first bytes and not by its name, as RGB. Of a JPEG only as many pixels are decoded
/// as `least_side` asks for (0: all). Throws Error, which names `name`.
Image decode_photograph(const std::vector<uint8_t>& content, const std::string& name, int64_t least_side);

/// Throws Error for sizes that no photograph has, which a damaged header may ask memory for.
void check_pixels(int64_t height, int64_t width, const std::string& name);

}  // namespace samplenorm::data
