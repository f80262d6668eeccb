#include <fmt/format.h>
#include <torch/torch.h>

#include "cli/layer_case.h"
#include "models/norm_by_name.h"
#include "samplenorm/error.h"

namespace samplenorm::cli {
namespace {

/// Sums over a hundred thousand points differ by their order, so the tolerance is against the largest value.
void compare(const LayerCase& layer_case, const char* what, const torch::Tensor& ours, const torch::Tensor& torchs) {
  constexpr double kTolerance = 1e-4;
  const double largest = torchs.abs().max().item<double>();
  if (torch::allclose(ours, torchs, kTolerance, kTolerance * largest)) return;
  throw Error(fmt::format("BN on {}: expected libtorch's {}, found a difference of {:.3g} (largest value {:.3g})",
                          describe(layer_case), what, (ours - torchs).abs().max().item<double>(), largest));
}

/// Rounding alone decides on which side of the ReLU such a point falls; its gradient says nothing.
torch::Tensor without_points_at_the_kink(const torch::Tensor& dy, const LayerTensors& tensors) {
  const auto y = torch::batch_norm(tensors.x.detach(), tensors.weight, tensors.bias, {}, {}, /*training=*/true,
                                   /*momentum=*/0, /*eps=*/1e-5, /*cudnn_enabled=*/false);
  return dy.masked_fill(y.abs() < 1e-4, 0);
}

torch::Tensor buffer(const Norm& layer, const std::string& name) {
  for (const auto& found : layer.named_buffers()) {
    if (found.key().ends_with(name)) return found.value();
  }
  throw Error(fmt::format("expected a norm with a buffer {}, found none", name));
}

}  // namespace

void check_batch_norm(const LayerCase& layer_case, const LayerTensors& tensors) {
  const auto dy = without_points_at_the_kink(tensors.dy, tensors);
  const auto our_layer = make_layer("BN", tensors);
  const auto torch_layer = make_layer(models::kTorchBatchNorm, tensors);
  const auto ours = forward_backward(*our_layer, tensors.x, dy);
  const auto torchs = forward_backward(*torch_layer, tensors.x, dy);
  compare(layer_case, "output", ours.y, torchs.y);
  compare(layer_case, "gradient of the input", ours.gradients[0], torchs.gradients[0]);
  compare(layer_case, "gradient of the weight", ours.gradients[1], torchs.gradients[1]);
  compare(layer_case, "gradient of the bias", ours.gradients[2], torchs.gradients[2]);
  compare(layer_case, "running mean", buffer(*our_layer, "running_mean"), buffer(*torch_layer, "running_mean"));
  compare(layer_case, "running variance", buffer(*our_layer, "running_var"), buffer(*torch_layer, "running_var"));
  if (!ours.y.is_contiguous(layer_case.format) || !ours.gradients[0].is_contiguous(layer_case.format)) {
    throw Error(
        fmt::format("BN on {}: expected results in the input's memory format, found another", describe(layer_case)));
  }
}

}  // namespace samplenorm::cli
