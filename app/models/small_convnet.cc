#include "models/small_convnet.h"

#include <torch/torch.h>

#include "models/norm_by_name.h"

namespace samplenorm::models {
namespace {

struct Stage {
  int64_t channels;
  int64_t stride;
};
constexpr Stage kStages[] = {{16, 1}, {32, 2}, {64, 2}};

}  // namespace

SmallConvNetImpl::SmallConvNetImpl(const std::string& norm, int64_t classes) {
  int64_t channels = 1;
  for (const Stage& stage : kStages) {
    const auto number = std::to_string(norms_.size() + 1);
    const auto options =
        torch::nn::Conv2dOptions(channels, stage.channels, 3).stride(stage.stride).padding(1).bias(false);
    convolutions_.push_back(register_module("conv" + number, torch::nn::Conv2d(options)));
    norms_.push_back(register_module("norm" + number, norm_by_name(norm, stage.channels, /*relu=*/true)));
    channels = stage.channels;
  }
  classifier_ = register_module("classifier", torch::nn::Linear(channels, classes));
}

torch::Tensor SmallConvNetImpl::forward(const torch::Tensor& images) {
  torch::Tensor x = images;
  for (size_t i = 0; i < convolutions_.size(); ++i) x = norms_[i]->forward(convolutions_[i](x));
  return classifier_(x.mean({2, 3}));
}

}  // namespace samplenorm::models
