#include "bench/plain_norm.h"

#include <torch/torch.h>

namespace samplenorm::bench {
namespace {

/// Which lines of (N * H * W, C) the boxes of a group hold.
torch::Tensor lines_of(const Group& group, torch::IntArrayRef sizes) {
  const auto numbers = torch::arange(sizes[0] * sizes[2] * sizes[3]).view({sizes[0], sizes[2], sizes[3]});
  std::vector<torch::Tensor> lines;
  for (const Box& box : group.boxes) {
    auto part = numbers;
    int64_t dim = 0;
    for (const Range& range : {box.rows, box.heights, box.widths}) {
      part = part.slice(dim++, range.begin, range.end, range.step);
    }
    lines.push_back(part.reshape(-1));
  }
  return torch::cat(lines);
}

torch::Tensor in_double(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(torch::kFloat64).requires_grad_() : torch::Tensor();
}

}  // namespace

torch::Tensor zero_at_kink(const torch::Tensor& dy, const torch::Tensor& z) {
  return dy.masked_fill(z.abs() < 1e-4, 0);
}

PlainAnswer plain_norm(const LayerTensors& tensors, const Sample& sample, double eps, bool relu) {
  const auto x = in_double(tensors.x);
  const auto weight = in_double(tensors.weight);
  const auto bias = in_double(tensors.bias);
  const auto residual = in_double(tensors.residual);

  const auto lines = x.permute({0, 2, 3, 1}).reshape({-1, x.size(1)});
  auto mean = torch::zeros_like(weight);
  auto variance = torch::zeros_like(weight);
  for (const Group& group : sample.groups) {
    const auto points = lines.index_select(0, lines_of(group, x.sizes()));
    mean = mean + group.weight * points.mean(0);
    variance = variance + group.weight * points.var(0, /*unbiased=*/false);
  }
  const auto per_channel = [](const torch::Tensor& values) { return values.view({1, -1, 1, 1}); };
  const auto scale = weight / torch::sqrt(variance + eps);
  auto z = (x - per_channel(mean)) * per_channel(scale) + per_channel(bias);
  if (residual.defined()) z = z + residual;
  const auto y = relu ? torch::relu(z) : z;

  torch::autograd::variable_list inputs{x, weight, bias};
  if (residual.defined()) inputs.push_back(residual);
  const auto dy = relu ? zero_at_kink(tensors.dy, z.detach()) : tensors.dy;
  const auto gradients = torch::autograd::grad({y}, inputs, {dy.to(torch::kFloat64)});
  return {{.y = y.detach(),
           .dx = gradients[0],
           .dweight = gradients[1],
           .dbias = gradients[2],
           .dresidual = residual.defined() ? gradients[3] : torch::Tensor()},
          dy};
}

}  // namespace samplenorm::bench
