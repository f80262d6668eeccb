#pragma once

// A network that learns 28 x 28 images in seconds: three 3 x 3 convolutions, each with a norm and a ReLU behind it,
// then the mean of the map and a linear layer.

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <string>
#include <vector>

#include "samplenorm/norm.h"

namespace samplenorm::models {

class SmallConvNetImpl : public torch::nn::Module {
 public:
  /// `norm`: a name for norm_by_name().
  SmallConvNetImpl(const std::string& norm, int64_t classes);

  /// (N, 1, H, W) to (N, classes).
  torch::Tensor forward(const torch::Tensor& images);

  const Norm& first_norm() const { return *norms_.front(); }

 private:
  std::vector<torch::nn::Conv2d> convolutions_;
  std::vector<std::shared_ptr<Norm>> norms_;
  torch::nn::Linear classifier_{nullptr};
};
TORCH_MODULE(SmallConvNet);

}  // namespace samplenorm::models
