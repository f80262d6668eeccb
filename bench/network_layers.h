#pragma once

// Which norms a network has, and on what they work: found by one pass of images through it.

#include <torch/types.h>

#include <string>
#include <vector>

#include "bench/fusion.h"

namespace samplenorm::bench {

/// Norms of a network that do the same work.
struct NetworkLayer {
  std::vector<std::string> names;  ///< "layer1.0.bn1", ..., in the network's order
  std::vector<int64_t> sizes;      ///< N, C, H, W of the input
  std::vector<int64_t> parts;      ///< channels of the maps that it normalizes as if concatenated; mostly one, C
  Fusion fusion = Fusion::kNone;

  int64_t count() const { return static_cast<int64_t>(names.size()); }
};

/// In the order of the first of each kind. Throws Error for an unknown model.
std::vector<NetworkLayer> layers_of(const std::string& model, const torch::Tensor& images);

}  // namespace samplenorm::bench
