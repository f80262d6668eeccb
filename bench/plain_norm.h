#pragma once

// The definition of a sampled batch norm, to check the fast ones by: float64, ATen calls, autograd's derivatives.

#include "bench/layer_case.h"
#include "samplenorm/sample.h"

namespace samplenorm::bench {

/// dy, with 0 where rounding alone decides on which side of the ReLU (with z before it) a point falls: there, answers
/// may differ.
torch::Tensor zero_at_kink(const torch::Tensor& dy, const torch::Tensor& z);

struct PlainAnswer {
  LayerAnswer answer;  ///< in float64
  torch::Tensor dy;    ///< the gradient that it is for: the tensors', with ReLU zero_at_kink()
};

/// Statistics come from the sample's boxes.
PlainAnswer plain_norm(const LayerTensors& tensors, const Sample& sample, double eps, bool relu);

}  // namespace samplenorm::bench
