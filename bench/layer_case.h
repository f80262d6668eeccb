#pragma once

// What `bench layer` measures: one layer, forward and backward, on one shape, in one memory format, with one fusion.

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/fusion.h"
#include "samplenorm/norm.h"

namespace samplenorm::bench {

struct LayerCase {
  std::vector<int64_t> sizes;  ///< N, C, H, W
  torch::MemoryFormat format;
  Fusion fusion;
};

/// "BN+ReLU on (32, 64, 56, 56) channels_last".
std::string describe(const LayerCase& layer_case);
std::string format_name(torch::MemoryFormat format);
/// "(32, 64, 56, 56)".
std::string shape_name(const std::vector<int64_t>& sizes);

/// The same numbers for every contender.
struct LayerTensors {
  torch::Tensor x;  ///< a leaf that requires its gradient
  torch::Tensor weight;
  torch::Tensor bias;
  torch::Tensor residual;  ///< like x; undefined where the fusion has none
  torch::Tensor dy;        ///< gradient of the layer's output
};
/// Cases that differ in their format only get the same values.
LayerTensors make_tensors(const LayerCase& layer_case);

/// The same values in memory of their own.
LayerTensors copy_of(const LayerTensors& tensors);

/// What a layer computes. What a contender does not compute is undefined.
struct LayerAnswer {
  torch::Tensor y;
  torch::Tensor dx;
  torch::Tensor dweight;
  torch::Tensor dbias;
  torch::Tensor dresidual;
};

/// A norm in training, with the tensors' weight and bias and the fusion's ReLU.
std::shared_ptr<Norm> make_layer(const std::string& norm, const LayerTensors& tensors, Fusion fusion);

/// The part of the points that the layer's statistics come from: 1 for what is not sampled.
double sampled_part(const Norm& layer, const std::vector<int64_t>& sizes);

}  // namespace samplenorm::bench
