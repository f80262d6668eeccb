#include "cli/layer_case.h"

#include <fmt/ranges.h>
#include <torch/torch.h>

#include "models/norm_by_name.h"

namespace samplenorm::cli {

std::string format_name(torch::MemoryFormat format) {
  return format == torch::MemoryFormat::ChannelsLast ? "channels_last" : "contiguous";
}

std::string describe(const LayerCase& layer_case) {
  return fmt::format("({}) {}", fmt::join(layer_case.sizes, ", "), format_name(layer_case.format));
}

LayerTensors make_tensors(const LayerCase& layer_case) {
  torch::manual_seed(1);
  const int64_t channels = layer_case.sizes[1];
  const auto random_map = [&] { return torch::randn(layer_case.sizes).contiguous(layer_case.format); };
  return {random_map().mul_(1.5).add_(0.3).requires_grad_(), random_map(), torch::rand({channels}) + 0.5,
          torch::randn({channels}) * 0.2};
}

std::shared_ptr<Norm> make_layer(const std::string& norm, const LayerTensors& tensors) {
  auto layer = models::norm_by_name(norm, tensors.weight.size(0), /*relu=*/true);
  const torch::NoGradGuard no_gradients;
  for (auto& parameter : layer->named_parameters()) {
    if (parameter.value().sizes() != tensors.weight.sizes()) continue;
    parameter.value().copy_(parameter.key().ends_with("weight") ? tensors.weight : tensors.bias);
  }
  set_seed(*layer, 1);
  layer->train();
  return layer;
}

LayerAnswer forward_backward(Norm& layer, const torch::Tensor& x, const torch::Tensor& dy) {
  torch::autograd::variable_list inputs{x};
  for (const auto& parameter : layer.parameters()) inputs.push_back(parameter);
  auto y = layer.forward(x);
  auto gradients = torch::autograd::grad({y}, inputs, {dy});
  return {y, std::move(gradients)};
}

double sampled_part(const Norm& layer, const LayerCase& layer_case) {
  const auto* sampled = dynamic_cast<const SampledBatchNormImpl*>(&layer);
  if (sampled == nullptr || sampled->spec().stat_batch > 0) return 1;
  // Virtual rows come with the input: here the first rows stand in for them, so that all contenders get the same bytes.
  const int64_t virtual_rows = sampled->spec().virtual_rows();
  const auto& sizes = layer_case.sizes;
  const Shape shape{virtual_rows, sizes[0] - virtual_rows, 1, sizes[2], sizes[3]};
  return sampled_fraction(sampled->sample(sizes).front(), shape);
}

}  // namespace samplenorm::cli
