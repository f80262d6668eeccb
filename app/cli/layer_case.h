#pragma once

// What `bench layer` measures: one layer, norm and ReLU, forward and backward through autograd, on one shape.

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "samplenorm/norm.h"

namespace samplenorm::cli {

struct LayerCase {
  std::vector<int64_t> sizes;  ///< N, C, H, W
  torch::MemoryFormat format;
};

/// "(32, 64, 56, 56) channels_last".
std::string describe(const LayerCase& layer_case);
std::string format_name(torch::MemoryFormat format);

/// The same numbers for every contender.
struct LayerTensors {
  torch::Tensor x;   ///< a leaf that requires its gradient
  torch::Tensor dy;  ///< gradient of the layer's output
  torch::Tensor weight;
  torch::Tensor bias;
};
LayerTensors make_tensors(const LayerCase& layer_case);

/// A norm with a ReLU behind it, in training, with the tensors' weight and bias.
std::shared_ptr<Norm> make_layer(const std::string& norm, const LayerTensors& tensors);

struct LayerAnswer {
  torch::Tensor y;
  std::vector<torch::Tensor> gradients;  ///< of x, then of the layer's parameters
};
LayerAnswer forward_backward(Norm& layer, const torch::Tensor& x, const torch::Tensor& dy);

/// The part of the points that the layer's statistics come from: 1 for what is not sampled.
double sampled_part(const Norm& layer, const LayerCase& layer_case);

/// Throws Error unless our exact batch norm gives libtorch's output, gradients and running statistics.
void check_batch_norm(const LayerCase& layer_case, const LayerTensors& tensors);

}  // namespace samplenorm::cli
