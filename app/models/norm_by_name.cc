#include "models/norm_by_name.h"

#include <torch/torch.h>

namespace samplenorm::models {
namespace {

class TorchBatchNorm : public Norm {
 public:
  explicit TorchBatchNorm(const NormOptions& norm_options) : Norm(norm_options) {
    batch_norm_ = register_module("batch_norm", torch::nn::BatchNorm2d(options.num_features()));
  }

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) override {
    torch::Tensor y = batch_norm_(x);
    if (residual.defined()) y += residual;
    // In place, as torchvision's models have it: the rival at its best.
    return options.relu() ? y.relu_() : y;
  }

  void reset() override { batch_norm_->reset(); }

 private:
  torch::nn::BatchNorm2d batch_norm_{nullptr};
};

}  // namespace

std::shared_ptr<Norm> norm_by_name(const std::string& name, int64_t channels, bool relu) {
  if (name != kTorchBatchNorm) return make_norm(name, channels, relu);
  return std::make_shared<TorchBatchNorm>(NormOptions(channels).spec(name).relu(relu));
}

}  // namespace samplenorm::models
