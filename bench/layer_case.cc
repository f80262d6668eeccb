#include "bench/layer_case.h"

#include <fmt/ranges.h>
#include <torch/torch.h>

#include "bench/measurement.h"
#include "models/norm_by_name.h"

namespace samplenorm::bench {

std::string format_name(torch::MemoryFormat format) {
  return format == torch::MemoryFormat::ChannelsLast ? kChannelsLast : kContiguous;
}

std::string shape_name(const std::vector<int64_t>& sizes) { return fmt::format("({})", fmt::join(sizes, ", ")); }

std::string describe(const LayerCase& layer_case) {
  return fmt::format("{} on {} {}", name_of(layer_case.fusion), shape_name(layer_case.sizes),
                     format_name(layer_case.format));
}

LayerTensors make_tensors(const LayerCase& layer_case) {
  torch::manual_seed(1);
  const int64_t channels = layer_case.sizes[1];
  const auto random_map = [&] { return torch::randn(layer_case.sizes).contiguous(layer_case.format); };
  LayerTensors tensors{.x = random_map().mul_(1.5).add_(0.3).requires_grad_(),
                       .weight = torch::rand({channels}) + 0.5,
                       .bias = torch::randn({channels}) * 0.2,
                       .residual = {},
                       .dy = random_map()};
  if (has_residual(layer_case.fusion)) tensors.residual = random_map().requires_grad_();
  return tensors;
}

LayerTensors copy_of(const LayerTensors& tensors) {
  const auto copy = [](const torch::Tensor& from) {
    return from.defined() ? from.detach().clone().requires_grad_(from.requires_grad()) : torch::Tensor();
  };
  return {.x = copy(tensors.x),
          .weight = copy(tensors.weight),
          .bias = copy(tensors.bias),
          .residual = copy(tensors.residual),
          .dy = copy(tensors.dy)};
}

std::shared_ptr<Norm> make_layer(const std::string& norm, const LayerTensors& tensors, Fusion fusion) {
  auto layer = models::norm_by_name(norm, tensors.weight.size(0), has_relu(fusion));
  const torch::NoGradGuard no_gradients;
  for (auto& parameter : layer->named_parameters()) {
    if (parameter.value().sizes() != tensors.weight.sizes()) continue;
    parameter.value().copy_(parameter.key().ends_with("weight") ? tensors.weight : tensors.bias);
  }
  set_seed(*layer, 1);
  layer->train();
  return layer;
}

double sampled_part(const Norm& layer, const std::vector<int64_t>& sizes) {
  const auto* sampled = dynamic_cast<const SampledBatchNormImpl*>(&layer);
  if (sampled == nullptr || sampled->spec().stat_batch > 0) return 1;
  // Virtual rows come with the input: here the first rows stand in for them, so that all contenders get the same bytes.
  const int64_t virtual_rows = sampled->spec().virtual_rows();
  const Shape shape{virtual_rows, sizes[0] - virtual_rows, 1, sizes[2], sizes[3]};
  return sampled_fraction(sampled->sample(sizes).front(), shape);
}

}  // namespace samplenorm::bench
