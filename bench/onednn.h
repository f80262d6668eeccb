#pragma once

// A rival: oneDNN's batch normalization, with exact statistics and a ReLU fused where the fusion has one.

#include <vector>

#include "bench/contender.h"

namespace samplenorm::bench {

struct OneDnnContender {
  std::string format;  ///< of memory: "nhwc", "nchw", or a blocked one, "nChw8c" or "nChw16c"
  std::unique_ptr<Contender> contender;
};

/// One for each memory format, the data in it beforehand; none where the fusion is not oneDNN's (a residual). The
/// answers are in the contiguous format.
std::vector<OneDnnContender> onednn_contenders(const LayerTensors& tensors, Fusion fusion);

/// "oneDNN 2.6.3".
std::string onednn_version();

}  // namespace samplenorm::bench
