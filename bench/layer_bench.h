#pragma once

#include <string>
#include <vector>

#include "bench/measurement.h"
#include "bench/rounds.h"

namespace samplenorm::bench {

/// Layers of ResNets: on ImageNet's images, then on CIFAR's.
const std::vector<std::vector<int64_t>>& standard_shapes();

/// Checks and then times all contenders of one shape and fusion together: libtorch and `norms` in both memory formats,
/// oneDNN in all of its own, the limit with both kinds of stores (and, with an empty path, the better of them). Throws
/// Error where an answer is wrong.
Measurements bench_layer(const std::vector<int64_t>& sizes, Fusion fusion, const std::vector<std::string>& norms,
                         const Effort& effort);

}  // namespace samplenorm::bench
