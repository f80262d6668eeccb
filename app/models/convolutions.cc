#include "models/convolutions.h"

#include <torch/torch.h>

namespace samplenorm::models {
namespace {

void lecun_normal(torch::Tensor& weight) { torch::nn::init::kaiming_normal_(weight, 0, torch::kFanIn, torch::kLinear); }

void initialize_convolution(torch::Tensor& weight, bool selu, Keep keep) {
  if (selu) return lecun_normal(weight);
  if (keep == Keep::kForward) {
    torch::nn::init::kaiming_normal_(weight, 0, torch::kFanIn, torch::kReLU);
  } else {
    torch::nn::init::kaiming_normal_(weight, 0, torch::kFanOut, torch::kReLU);
  }
}

}  // namespace

torch::nn::Conv2d convolution(int64_t inputs, int64_t outputs, int64_t kernel, int64_t stride, int64_t groups) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(inputs, outputs, kernel).stride(stride).padding(kernel / 2).groups(groups).bias(false));
}

void initialize(torch::nn::Module& network, const ModelOptions& options, Keep keep) {
  const bool selu = options.activation == "selu";
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (auto* conv = module->as<torch::nn::Conv2d>()) initialize_convolution(conv->weight, selu, keep);
    auto* linear = module->as<torch::nn::Linear>();
    if (linear == nullptr || !selu) continue;
    lecun_normal(linear->weight);
    torch::nn::init::zeros_(linear->bias);
  }
}

}  // namespace samplenorm::models
