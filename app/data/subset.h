#pragma once

#include <memory>

#include "data/data_set.h"

namespace samplenorm::data {

/// `count` images of `set` (not more than it has): image i is its image floor(i * size / count).
std::shared_ptr<const ImageSet> evenly_spread(std::shared_ptr<const ImageSet> set, int64_t count);

}  // namespace samplenorm::data
