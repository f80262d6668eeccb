#pragma once

// The blocks of ResNets (He et al. 2016). The last norm of a block takes the shortcut as its residual, so that the
// addition and the ReLU are fused into it.

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>

#include <memory>

#include "models/model.h"

namespace samplenorm::models {

/// What goes around a block that changes the map's size or the channels.
enum class Shortcut {
  kPadded,     ///< every second point, and channels of zeros behind: no parameters (option A)
  kProjected,  ///< a 1 x 1 convolution and a norm, "downsample" (option B)
};

/// A block's place in the network.
struct BlockShape {
  int64_t inputs;  ///< channels that come in
  int64_t width;   ///< channels of its 3 x 3 convolutions
  int64_t stride;
};

/// Two 3 x 3 convolutions.
class BasicBlock : public torch::nn::Module {
 public:
  static constexpr int64_t kExpansion = 1;  ///< channels that go out, in widths

  BasicBlock(const ModelOptions& options, const BlockShape& shape, Shortcut shortcut);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d conv1_, conv2_;
  std::shared_ptr<Norm> bn1_, bn2_;
  torch::nn::Sequential downsample_{nullptr};
  int64_t stride_, added_channels_;
};

/// 1 x 1, 3 x 3 (which has the stride, as in torchvision: "v1.5"), 1 x 1.
class Bottleneck : public torch::nn::Module {
 public:
  static constexpr int64_t kExpansion = 4;

  Bottleneck(const ModelOptions& options, const BlockShape& shape);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d conv1_, conv2_, conv3_;
  std::shared_ptr<Norm> bn1_, bn2_, bn3_;
  torch::nn::Sequential downsample_{nullptr};
};

}  // namespace samplenorm::models
