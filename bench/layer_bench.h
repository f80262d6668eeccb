#pragma once

#include <string>
#include <vector>

#include "bench/measurement.h"
#include "bench/rounds.h"

namespace samplenorm::bench {

/// Layers of ResNets: on ImageNet's images, then on CIFAR's.
const std::vector<std::vector<int64_t>>& standard_shapes();

/// More of them, from 16 kB to 103 MB: what `bench layer --ring` times.
std::vector<std::vector<int64_t>> ring_shapes();

/// Checks and then times libtorch's norm and `norms` in both memory formats through autograd, and the limit, over a
/// ring of layers with tensors of their own (contender.h): large ones are not in the cache when their turn comes.
Measurements bench_ring(const std::vector<int64_t>& sizes, Fusion fusion, const std::vector<std::string>& norms,
                        const Effort& effort);
/// Layers of a ring for tensors of this shape.
int ring_layers(const std::vector<int64_t>& sizes);

/// Checks and then times all contenders of one shape and fusion together: libtorch and `norms` in both memory formats,
/// oneDNN in all of its own, the limit with both kinds of stores (and, with an empty path, the better of them). Throws
/// Error where an answer is wrong.
Measurements bench_layer(const std::vector<int64_t>& sizes, Fusion fusion, const std::vector<std::string>& norms,
                         const Effort& effort);

}  // namespace samplenorm::bench
