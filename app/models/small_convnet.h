#pragma once

// A network that learns 28 x 28 images in seconds: three 3 x 3 convolutions, each with a norm and a ReLU behind it,
// then the mean of the map and a linear layer.

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <vector>

#include "models/model.h"

namespace samplenorm::models {

class SmallConvNetImpl : public Network {
 public:
  explicit SmallConvNetImpl(const ModelOptions& options);

  torch::Tensor forward(const torch::Tensor& images) override;

 private:
  std::vector<torch::nn::Conv2d> convolutions_;
  std::vector<std::shared_ptr<Norm>> norms_;
  torch::nn::Linear classifier_{nullptr};
};
TORCH_MODULE(SmallConvNet);

std::shared_ptr<Network> make_small_convnet(const ModelOptions& options);

}  // namespace samplenorm::models
