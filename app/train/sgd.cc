#include "train/sgd.h"

#include <torch/torch.h>

namespace samplenorm::train {

bool decays(const torch::Tensor& parameter) { return parameter.dim() > 1; }

Sgd::Sgd(const torch::nn::Module& model, const SgdOptions& options) : options_(options) {
  for (const auto& item : model.named_parameters())
    slots_.push_back({item.key(), item.value(), torch::zeros_like(item.value(), torch::requires_grad(false))});
}

void Sgd::step(double rate) {
  const torch::NoGradGuard no_gradients;
  for (Slot& slot : slots_) {
    torch::Tensor gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    if (options_.weight_decay != 0 && decays(slot.parameter))
      gradient = gradient.add(slot.parameter, options_.weight_decay);
    slot.velocity.mul_(options_.momentum).add_(gradient);
    slot.parameter.add_(options_.nesterov ? gradient.add(slot.velocity, options_.momentum) : slot.velocity, -rate);
  }
}

void Sgd::clear_gradients() {
  for (Slot& slot : slots_) slot.parameter.mutable_grad().reset();
}

}  // namespace samplenorm::train
