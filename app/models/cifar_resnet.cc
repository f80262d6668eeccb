#include "models/cifar_resnet.h"

#include <torch/torch.h>

#include "models/convolutions.h"
#include "models/norm_by_name.h"
#include "models/residual_blocks.h"

namespace samplenorm::models {
namespace {

constexpr int64_t kWidths[] = {16, 32, 64};

class CifarResNet : public Network {
 public:
  CifarResNet(const ModelOptions& options, int64_t blocks_per_stage) {
    int64_t channels = kWidths[0];
    conv1_ = register_module("conv1", convolution(options.channels, channels, 3));
    bn1_ = register_module("bn1", norm_of_model(options, channels, /*activated=*/true));
    for (const int64_t width : kWidths) {
      torch::nn::Sequential stage;
      for (int64_t i = 0; i < blocks_per_stage; ++i) {
        const int64_t stride = width == channels ? 1 : 2;
        stage->push_back(std::make_shared<BasicBlock>(options, BlockShape{channels, width, stride}, Shortcut::kPadded));
        channels = width;
      }
      stages_.push_back(register_module("layer" + std::to_string(stages_.size() + 1), stage));
    }
    fc_ = register_module("fc", torch::nn::Linear(channels, options.classes));
    initialize(*this, options, Keep::kBackward);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = bn1_->forward(conv1_(images));
    for (auto& stage : stages_) x = stage->forward(x);
    return fc_(x.mean({2, 3}));
  }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  std::shared_ptr<Norm> bn1_;
  std::vector<torch::nn::Sequential> stages_;
  torch::nn::Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<Network> make_cifar_resnet(const ModelOptions& options, int64_t depth) {
  return std::make_shared<CifarResNet>(options, (depth - 2) / 6);
}

}  // namespace samplenorm::models
