#include "bench/network_layers.h"

#include <torch/torch.h>

#include "models/model.h"
#include "models/norm_by_name.h"

namespace samplenorm::bench {
namespace {

/// Stands where a norm would and notes what it is given.
class Observer : public Norm, public models::TakesSeveralInputs {
 public:
  using Norm::Norm;

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) override {
    return observe({x}, residual);
  }

  torch::Tensor forward_concatenated(torch::TensorList inputs) override { return observe(inputs, {}); }

  NetworkLayer seen;

 private:
  torch::Tensor observe(torch::TensorList inputs, const torch::Tensor& residual) {
    const torch::Tensor x = torch::cat(inputs, 1);
    seen.sizes = x.sizes().vec();
    seen.parts.clear();
    for (const auto& input : inputs) seen.parts.push_back(input.size(1));
    seen.fusion = residual.defined()               ? Fusion::kAddRelu
                  : options.activation() == "relu" ? Fusion::kRelu
                                                   : Fusion::kNone;
    return x;
  }
};

bool alike(const NetworkLayer& a, const NetworkLayer& b) {
  return a.sizes == b.sizes && a.parts == b.parts && a.fusion == b.fusion;
}

void add(std::vector<NetworkLayer>& layers, const NetworkLayer& seen, const std::string& name) {
  for (auto& layer : layers)
    if (alike(layer, seen)) return layer.names.push_back(name);
  layers.push_back(seen);
  layers.back().names = {name};
}

}  // namespace

std::vector<NetworkLayer> layers_of(const std::string& model, const torch::Tensor& images) {
  const torch::NoGradGuard no_gradients;
  models::ModelOptions options{.channels = images.size(1)};
  options.make_norm = [](int64_t channels, bool activated) {
    return std::make_shared<Observer>(NormOptions(channels).relu(activated));
  };
  const auto network = models::make_model(model, options);
  network->forward(images);
  std::vector<NetworkLayer> layers;
  for (const auto& module : network->named_modules())
    if (const auto* observer = dynamic_cast<const Observer*>(module.value().get()))
      add(layers, observer->seen, module.key());
  return layers;
}

}  // namespace samplenorm::bench
