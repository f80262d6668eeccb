#include "models/norm_by_name.h"

#include <torch/torch.h>

namespace samplenorm::models {
namespace {

class TorchBatchNorm : public Norm {
 public:
  explicit TorchBatchNorm(const NormOptions& norm_options)
      : Norm(norm_options), batch_norm_(torch::nn::BatchNorm2dOptions(norm_options.num_features())) {
    const auto& activation = norm_options.activation();
    if (activation != "identity" && activation != "relu" && activation != "relu6")
      throw Error("libtorch's norm: expected the activation identity, relu or relu6, got " + activation);
    // Its tensors become this module's own, not those of a module within, so that their names are torchvision's.
    register_parameter("weight", batch_norm_->weight);
    register_parameter("bias", batch_norm_->bias);
    register_buffer("running_mean", batch_norm_->running_mean);
    register_buffer("running_var", batch_norm_->running_var);
    register_buffer("num_batches_tracked", batch_norm_->num_batches_tracked);
  }

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) override {
    batch_norm_->train(is_training());
    torch::Tensor y = batch_norm_(x);
    if (residual.defined()) y += residual;
    // In place, as torchvision's models have it: the rival at its best.
    if (options.activation() == "relu") return y.relu_();
    return options.activation() == "relu6" ? torch::hardtanh_(y, 0, 6) : y;
  }

  void reset() override {
    const torch::NoGradGuard no_gradients;
    batch_norm_->reset_parameters();
  }

 private:
  torch::nn::BatchNorm2d batch_norm_;
};

/// No norm; the residual, then SELU where the options have a ReLU.
class Selu : public Norm {
 public:
  using Norm::Norm;

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) override {
    const torch::Tensor sum = residual.defined() ? x + residual : x;
    return options.activation() == "relu" ? torch::selu(sum) : sum;
  }
};

}  // namespace

std::shared_ptr<Norm> norm_by_name(const std::string& name, int64_t channels, bool relu) {
  return norm_by_name(NormOptions(channels).spec(name).relu(relu));
}

std::shared_ptr<Norm> norm_by_name(const NormOptions& options) {
  if (options.spec() != kTorchBatchNorm) return make_norm(options);
  return std::make_shared<TorchBatchNorm>(options);
}

std::shared_ptr<Norm> norm_of_model(const ModelOptions& options, int64_t channels, bool activated,
                                    const std::string& relu) {
  if (options.make_norm) return options.make_norm(channels, activated);
  if (options.activation == "relu")
    return norm_by_name(NormOptions(channels).spec(options.norm).activation(activated ? relu : "identity"));
  if (options.activation != "selu")
    throw Error("unknown activation '" + options.activation + "', expected relu or selu");
  if (options.norm != "none")
    throw Error("SELU stands in place of a norm, expected norm none with it, got " + options.norm);
  return std::make_shared<Selu>(NormOptions(channels).spec("none").relu(activated));
}

torch::Tensor forward_concatenated(Norm& norm, torch::TensorList inputs) {
  if (inputs.size() == 1) return norm.forward(inputs.front());
  if (auto* sampled = dynamic_cast<SampledBatchNormImpl*>(&norm)) return sampled->forward_concatenated(inputs);
  if (auto* other = dynamic_cast<TakesSeveralInputs*>(&norm)) return other->forward_concatenated(inputs);
  return norm.forward(torch::cat(inputs, 1));
}

}  // namespace samplenorm::models
