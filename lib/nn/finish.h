#pragma once

#include <torch/torch.h>

#include "nn/activation.h"

namespace samplenorm {

/// What follows a normalization that does not fuse it: the residual, if there is one, then the activation.
inline torch::Tensor finish(torch::Tensor y, const torch::Tensor& residual, const std::string& activation) {
  if (residual.defined()) y = y + residual;
  return activation == "relu" ? y.relu() : activation == "identity" ? y : activate(y, activation);
}

}  // namespace samplenorm
