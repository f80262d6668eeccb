#include "models/densenet.h"

#include <torch/torch.h>

#include "models/convolutions.h"
#include "models/norm_by_name.h"

namespace samplenorm::models {
namespace {

constexpr int64_t kBlockLayers[] = {6, 12, 24, 16};
constexpr int64_t kFirstChannels = 64;
constexpr int64_t kGrowth = 32;  ///< channels that a layer adds
constexpr int64_t kBottleneck = 4 * kGrowth;

/// Maps that stand for their concatenation along channels.
using Maps = std::vector<torch::Tensor>;

class DenseLayer : public torch::nn::Module {
 public:
  DenseLayer(const ModelOptions& options, int64_t channels) {
    norm1_ = register_module("norm1", norm_of_model(options, channels, /*activated=*/true));
    conv1_ = register_module("conv1", convolution(channels, kBottleneck, 1));
    norm2_ = register_module("norm2", norm_of_model(options, kBottleneck, /*activated=*/true));
    conv2_ = register_module("conv2", convolution(kBottleneck, kGrowth, 3));
  }

  torch::Tensor forward(const Maps& maps) {
    return conv2_(norm2_->forward(conv1_(forward_concatenated(*norm1_, maps))));
  }

 private:
  std::shared_ptr<Norm> norm1_, norm2_;
  torch::nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
};

class DenseBlock : public torch::nn::Module {
 public:
  DenseBlock(const ModelOptions& options, int64_t channels, int64_t layers) {
    for (int64_t i = 0; i < layers; ++i)
      layers_.push_back(register_module("denselayer" + std::to_string(i + 1),
                                        std::make_shared<DenseLayer>(options, channels + i * kGrowth)));
  }

  Maps forward(const torch::Tensor& x) {
    Maps maps{x};
    for (const auto& layer : layers_) maps.push_back(layer->forward(maps));
    return maps;
  }

 private:
  std::vector<std::shared_ptr<DenseLayer>> layers_;
};

/// Halves the channels and the sides.
class Transition : public torch::nn::Module {
 public:
  Transition(const ModelOptions& options, int64_t channels) {
    norm_ = register_module("norm", norm_of_model(options, channels, /*activated=*/true));
    conv_ = register_module("conv", convolution(channels, channels / 2, 1));
  }

  torch::Tensor forward(const Maps& maps) {
    return torch::avg_pool2d(conv_(forward_concatenated(*norm_, maps)), /*kernel_size=*/2, /*stride=*/2);
  }

 private:
  std::shared_ptr<Norm> norm_;
  torch::nn::Conv2d conv_{nullptr};
};

/// All but the classifier.
class Features : public torch::nn::Module {
 public:
  explicit Features(const ModelOptions& options) : channels_(kFirstChannels) {
    conv0_ = register_module("conv0", convolution(options.channels, channels_, 7, 2));
    norm0_ = register_module("norm0", norm_of_model(options, channels_, /*activated=*/true));
    for (const int64_t layers : kBlockLayers) {
      if (!blocks_.empty()) {
        const std::string name = "transition" + std::to_string(blocks_.size());
        transitions_.push_back(register_module(name, std::make_shared<Transition>(options, channels_)));
        channels_ /= 2;
      }
      const std::string name = "denseblock" + std::to_string(blocks_.size() + 1);
      blocks_.push_back(register_module(name, std::make_shared<DenseBlock>(options, channels_, layers)));
      channels_ += layers * kGrowth;
    }
    norm5_ = register_module("norm5", norm_of_model(options, channels_, /*activated=*/true));
  }

  torch::Tensor forward(const torch::Tensor& images) {
    const torch::Tensor x = norm0_->forward(conv0_(images));
    Maps maps = blocks_[0]->forward(torch::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1));
    for (size_t i = 0; i < transitions_.size(); ++i) maps = blocks_[i + 1]->forward(transitions_[i]->forward(maps));
    return forward_concatenated(*norm5_, maps);
  }

  int64_t channels() const { return channels_; }

 private:
  int64_t channels_;  // that go out
  torch::nn::Conv2d conv0_{nullptr};
  std::shared_ptr<Norm> norm0_, norm5_;
  std::vector<std::shared_ptr<DenseBlock>> blocks_;
  std::vector<std::shared_ptr<Transition>> transitions_;
};

class DenseNet : public Network {
 public:
  explicit DenseNet(const ModelOptions& options) {
    features_ = register_module("features", std::make_shared<Features>(options));
    classifier_ = register_module("classifier", torch::nn::Linear(features_->channels(), options.classes));
    initialize(*this, options, Keep::kForward);
    torch::nn::init::zeros_(classifier_->bias);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    return classifier_(features_->forward(images).mean({2, 3}));
  }

 private:
  std::shared_ptr<Features> features_;
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace

std::shared_ptr<Network> make_densenet121(const ModelOptions& options) { return std::make_shared<DenseNet>(options); }

}  // namespace samplenorm::models
