#pragma once

// Before a contender is timed, its answer is checked. All throw Error with one sentence.

#include "bench/layer_case.h"

namespace samplenorm::bench {

/// Exact batch norm must give libtorch's output, gradients and running statistics; a sampled one those of plain_norm().
/// Through autograd and below it. Other norms pass unchecked.
void check_norm(const std::string& norm, const LayerCase& layer_case, const LayerTensors& tensors);

/// oneDNN must give about libtorch's answers: then it was called as it wants to be.
void check_onednn(const LayerCase& layer_case, const LayerTensors& tensors);

}  // namespace samplenorm::bench
