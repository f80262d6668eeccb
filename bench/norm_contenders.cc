#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/torch.h>

#include <array>

#include "bench/contender.h"
#include "nn/operators.h"

namespace samplenorm::bench {
namespace {

class AutogradContender : public Contender {
 public:
  AutogradContender(std::shared_ptr<Norm> layer, LayerTensors tensors)
      : layer_(std::move(layer)), tensors_(std::move(tensors)), inputs_{tensors_.x} {
    for (const auto& parameter : layer_->parameters()) inputs_.push_back(parameter);
    if (tensors_.residual.defined()) inputs_.push_back(tensors_.residual);
  }

  void forward() override { y_ = layer_->forward(tensors_.x, tensors_.residual); }

  void backward() override { gradients_ = torch::autograd::grad({y_}, inputs_, {tensors_.dy}); }

  LayerAnswer answer() override {
    LayerAnswer answer{.y = y_, .dx = gradients_.front(), .dweight = {}, .dbias = {}, .dresidual = {}};
    if (layer_->parameters().size() == 2) {
      answer.dweight = gradients_[1];
      answer.dbias = gradients_[2];
    }
    if (tensors_.residual.defined()) answer.dresidual = gradients_.back();
    return answer;
  }

  void release() override {
    y_.reset();
    gradients_.clear();
  }

 private:
  std::shared_ptr<Norm> layer_;
  LayerTensors tensors_;
  torch::autograd::variable_list inputs_;
  torch::Tensor y_;
  torch::autograd::variable_list gradients_;
};

class RawContender : public Contender {
 public:
  RawContender(const SampledBatchNormImpl& layer, const LayerTensors& tensors)
      : tensors_(tensors),
        spec_(layer.options.spec()),
        key_(key_tensor({static_cast<int64_t>(layer.key.seed), static_cast<int64_t>(layer.key.layer),
                         static_cast<int64_t>(layer.key.epoch), static_cast<int64_t>(layer.key.step)})),
        eps_(layer.options.eps()),
        activation_(layer.options.activation()) {}

  void forward() override {
    const at::AutoDispatchBelowADInplaceOrView below;
    out_ = sampled_batch_norm(tensors_.x, tensors_.weight, tensors_.bias, tensors_.residual, spec_, key_, eps_,
                              activation_, /*lean=*/false, /*group=*/{}, /*rank=*/0, /*ranks=*/1, /*keep=*/true);
  }

  void backward() override {
    const at::AutoDispatchBelowADInplaceOrView below;
    gradients_ = sampled_batch_norm_backward(tensors_.dy, tensors_.x, tensors_.weight, tensors_.bias, out_, spec_, key_,
                                             activation_);
  }

  LayerAnswer answer() override {
    return {.y = out_.y,
            .dx = gradients_.x.at(0),
            .dweight = gradients_.weight,
            .dbias = gradients_.bias,
            .dresidual = tensors_.residual.defined() ? gradients_.residual : torch::Tensor()};
  }

  void release() override {
    out_ = {};
    gradients_ = {};
  }

 private:
  LayerTensors tensors_;
  std::string spec_;
  torch::Tensor key_;
  double eps_;
  std::string activation_;
  Normalized out_;
  Gradients gradients_;
};

}  // namespace

std::unique_ptr<Contender> autograd_contender(std::shared_ptr<Norm> layer, const LayerTensors& tensors) {
  return std::make_unique<AutogradContender>(std::move(layer), tensors);
}

std::unique_ptr<Contender> raw_contender(const std::shared_ptr<Norm>& layer, const LayerTensors& tensors) {
  const auto* sampled = dynamic_cast<const SampledBatchNormImpl*>(layer.get());
  return sampled == nullptr ? nullptr : std::make_unique<RawContender>(*sampled, tensors);
}

}  // namespace samplenorm::bench
