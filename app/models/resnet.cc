#include "models/resnet.h"

#include <torch/torch.h>

#include "models/convolutions.h"
#include "models/norm_by_name.h"
#include "models/residual_blocks.h"

namespace samplenorm::models {
namespace {

constexpr int64_t kFirstWidth = 64;

std::shared_ptr<BasicBlock> make_block(BasicBlock*, const ModelOptions& options, const BlockShape& shape) {
  return std::make_shared<BasicBlock>(options, shape, Shortcut::kProjected);
}

std::shared_ptr<Bottleneck> make_block(Bottleneck*, const ModelOptions& options, const BlockShape& shape) {
  return std::make_shared<Bottleneck>(options, shape);
}

template <class Block>
class ResNet : public Network {
 public:
  ResNet(const ModelOptions& options, const StageBlocks& blocks) {
    conv1_ = register_module("conv1", convolution(options.channels, kFirstWidth, 7, 2));
    bn1_ = register_module("bn1", norm_of_model(options, kFirstWidth, /*activated=*/true));
    int64_t channels = kFirstWidth;
    int64_t width = kFirstWidth;
    for (const int64_t count : blocks) {
      torch::nn::Sequential stage;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t stride = i == 0 && width != kFirstWidth ? 2 : 1;
        stage->push_back(make_block(static_cast<Block*>(nullptr), options, {channels, width, stride}));
        channels = Block::kExpansion * width;
      }
      stages_.push_back(register_module("layer" + std::to_string(stages_.size() + 1), stage));
      width *= 2;
    }
    fc_ = register_module("fc", torch::nn::Linear(channels, options.classes));
    initialize(*this, options, Keep::kBackward);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = bn1_->forward(conv1_(images));
    x = torch::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
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

std::shared_ptr<Network> make_basic_resnet(const ModelOptions& options, const StageBlocks& blocks) {
  return std::make_shared<ResNet<BasicBlock>>(options, blocks);
}

std::shared_ptr<Network> make_bottleneck_resnet(const ModelOptions& options, const StageBlocks& blocks) {
  return std::make_shared<ResNet<Bottleneck>>(options, blocks);
}

}  // namespace samplenorm::models
