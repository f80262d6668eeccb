#include "models/mobilenet.h"

#include <torch/torch.h>

#include "models/convolutions.h"
#include "models/norm_by_name.h"

namespace samplenorm::models {
namespace {

/// Blocks of one width; the first of them has the stride.
struct InvertedStage {
  int64_t expansion;  ///< of a block's inputs
  int64_t channels;
  int64_t blocks;
  int64_t stride;
};
constexpr InvertedStage kInvertedStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
constexpr int64_t kStemChannels = 32;
constexpr int64_t kLastChannels = 1280;

/// A convolution, its norm and ReLU6, under the names "0" and "1".
class ActivatedConvolution : public torch::nn::Module {
 public:
  ActivatedConvolution(const ModelOptions& options, const torch::nn::Conv2d& convolution)
      : convolution_(register_module("0", convolution)),
        norm_(register_module("1", norm_of_model(options, convolution->options.out_channels(), /*activated=*/true,
                                                 /*relu=*/"relu6"))),
        has_plain_relu_(norm_->options.activation() == "relu" && options.activation == "relu") {}

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor y = norm_->forward(convolution_(x));
    // options.make_norm knows ReLU only, which this makes a ReLU6.
    return has_plain_relu_ ? y.clamp_max(6) : y;
  }

 private:
  torch::nn::Conv2d convolution_;
  std::shared_ptr<Norm> norm_;
  bool has_plain_relu_;
};

/// Expands the channels (1 x 1), filters each alone (3 x 3), projects them to few (1 x 1). The projection's norm has no
/// activation; where the block keeps the shape, the norm adds the block's input.
class InvertedResidual : public torch::nn::Module {
 public:
  InvertedResidual(const ModelOptions& options, int64_t inputs, int64_t outputs, int64_t expansion, int64_t stride)
      : adds_input_(stride == 1 && inputs == outputs) {
    const int64_t width = expansion * inputs;
    if (expansion != 1) add_activated(options, convolution(inputs, width, 1));
    add_activated(options, convolution(width, width, 3, stride, /*groups=*/width));
    layers_->push_back(projection_ = convolution(width, outputs, 1));
    layers_->push_back(norm_ = norm_of_model(options, outputs, /*activated=*/false));
    register_module("conv", layers_);
  }

  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor wide = x;
    for (const auto& layer : activated_) wide = layer->forward(wide);
    return norm_->forward(projection_(wide), adds_input_ ? x : torch::Tensor());
  }

 private:
  void add_activated(const ModelOptions& options, const torch::nn::Conv2d& convolution) {
    activated_.push_back(std::make_shared<ActivatedConvolution>(options, convolution));
    layers_->push_back(activated_.back());
  }

  bool adds_input_;
  torch::nn::ModuleList layers_;  // all of them, for their names
  std::vector<std::shared_ptr<ActivatedConvolution>> activated_;
  torch::nn::Conv2d projection_{nullptr};
  std::shared_ptr<Norm> norm_;
};

class MobileNetV2 : public Network {
 public:
  explicit MobileNetV2(const ModelOptions& options) {
    int64_t channels = kStemChannels;
    features_->push_back(ActivatedConvolution(options, convolution(options.channels, channels, 3, /*stride=*/2)));
    for (const InvertedStage& stage : kInvertedStages)
      for (int64_t i = 0; i < stage.blocks; ++i) {
        const int64_t stride = i == 0 ? stage.stride : 1;
        features_->push_back(InvertedResidual(options, channels, stage.channels, stage.expansion, stride));
        channels = stage.channels;
      }
    features_->push_back(ActivatedConvolution(options, convolution(channels, kLastChannels, 1)));
    register_module("features", features_);
    // Torchvision's "0" is the dropout.
    auto classifier = register_module("classifier", std::make_shared<torch::nn::Module>());
    linear_ = classifier->register_module("1", torch::nn::Linear(kLastChannels, options.classes));
    initialize(*this, options, Keep::kBackward);
    if (options.activation != "selu") torch::nn::init::normal_(linear_->weight, 0, 0.01);
    torch::nn::init::zeros_(linear_->bias);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    return linear_(features_->forward(images).mean({2, 3}));
  }

 private:
  torch::nn::Sequential features_;
  torch::nn::Linear linear_{nullptr};
};

}  // namespace

std::shared_ptr<Network> make_mobilenet_v2(const ModelOptions& options) {
  return std::make_shared<MobileNetV2>(options);
}

}  // namespace samplenorm::models
