#include "models/small_convnet.h"

#include <torch/torch.h>

#include "models/convolutions.h"
#include "models/norm_by_name.h"

namespace samplenorm::models {
namespace {

struct Stage {
  int64_t channels;
  int64_t stride;
};
constexpr Stage kStages[] = {{16, 1}, {32, 2}, {64, 2}};

}  // namespace

SmallConvNetImpl::SmallConvNetImpl(const ModelOptions& options) {
  int64_t channels = options.channels;
  for (const Stage& stage : kStages) {
    const auto number = std::to_string(norms_.size() + 1);
    convolutions_.push_back(register_module("conv" + number, convolution(channels, stage.channels, 3, stage.stride)));
    norms_.push_back(register_module("norm" + number, norm_of_model(options, stage.channels, /*activated=*/true)));
    channels = stage.channels;
  }
  classifier_ = register_module("classifier", torch::nn::Linear(channels, options.classes));
  initialize(*this, options, Keep::kBackward);
}

torch::Tensor SmallConvNetImpl::forward(const torch::Tensor& images) {
  torch::Tensor x = images;
  for (size_t i = 0; i < convolutions_.size(); ++i) x = norms_[i]->forward(convolutions_[i](x));
  return classifier_(x.mean({2, 3}));
}

std::shared_ptr<Network> make_small_convnet(const ModelOptions& options) {
  return std::make_shared<SmallConvNetImpl>(options);
}

}  // namespace samplenorm::models
