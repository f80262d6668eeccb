#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/philox.h"

namespace samplenorm {

/// The first `take` entries (all, if unset) of a random permutation of 0 ... count-1.
std::vector<int64_t> random_permutation(int64_t count, Stream& stream, std::optional<int64_t> take = {});

}  // namespace samplenorm
