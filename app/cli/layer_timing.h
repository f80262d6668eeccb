#pragma once

#include <string>
#include <vector>

#include "cli/layer_case.h"

namespace samplenorm::cli {

struct Effort {
  int rounds;      ///< at least
  double seconds;  ///< at least, for all contenders together
};

struct LayerTiming {
  std::string name;
  double sampled = 1;           ///< part of the points in the statistics
  std::vector<double> seconds;  ///< one a round, forward and backward
};

/// The name of the limit among the timings: a copy (for forward) and a triad (for backward) on tensors of the same
/// size, which move the bytes that a sampled and fused layer has to move at least, and do nothing else.
inline constexpr const char* kCopyName = "copy";

/// Times every norm and the limit (last), one after the other in every round, so that noise hits all alike.
std::vector<LayerTiming> time_layer(const LayerCase& layer_case, const LayerTensors& tensors,
                                    const std::vector<std::string>& norms, const Effort& effort);

}  // namespace samplenorm::cli
