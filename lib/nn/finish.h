#pragma once

#include <torch/torch.h>

namespace samplenorm {

/// What follows a normalization that does not fuse it: the residual, if there is one, and ReLU, if asked for.
inline torch::Tensor finish(torch::Tensor y, const torch::Tensor& residual, bool relu) {
  if (residual.defined()) y = y + residual;
  return relu ? y.relu() : y;
}

}  // namespace samplenorm
