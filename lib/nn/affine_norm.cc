#include "nn/affine_norm.h"

#include "nn/operators.h"

namespace samplenorm {

AffineNorm::AffineNorm(const NormOptions& norm_options, const std::string& spread_name) : Norm(norm_options) {
  if (options.affine()) {
    weight = register_parameter("weight", torch::ones({options.num_features()}));
    bias = register_parameter("bias", torch::zeros({options.num_features()}));
  }
  if (options.track_running_stats() && !spread_name.empty()) {
    running_mean = register_buffer("running_mean", torch::zeros({options.num_features()}));
    running_spread = register_buffer(spread_name, torch::ones({options.num_features()}));
    num_batches_tracked = register_buffer("num_batches_tracked", torch::tensor(0, torch::kLong));
  }
}

void AffineNorm::reset() {
  torch::NoGradGuard no_grad;
  if (weight.defined()) weight.fill_(1);
  if (bias.defined()) bias.zero_();
  if (!running_mean.defined()) return;
  running_mean.zero_();
  running_spread.fill_(1);
  num_batches_tracked.zero_();
}

torch::Tensor AffineNorm::per_channel(const torch::Tensor& values, const torch::Tensor& x) {
  std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = -1;
  return values.view(sizes);
}

std::vector<int64_t> AffineNorm::all_but_channels(const torch::Tensor& x) {
  std::vector<int64_t> dims = {0};
  for (int64_t dim = 2; dim < x.dim(); ++dim) dims.push_back(dim);
  return dims;
}

torch::Tensor AffineNorm::scale_and_finish(const torch::Tensor& xhat, const torch::Tensor& residual) const {
  torch::Tensor y = xhat;
  if (weight.defined()) y = y * per_channel(weight, y) + per_channel(bias, y);
  return finish(y, residual, options.activation());
}

void AffineNorm::update_running(const torch::Tensor& mean, const torch::Tensor& spread) {
  if (!running_mean.defined() || !is_training()) return;
  torch::NoGradGuard no_grad;
  move_running_statistics({running_mean, running_spread, num_batches_tracked, options.momentum()}, mean.unsqueeze(0),
                          spread.unsqueeze(0));
}

void AffineNorm::check(const torch::Tensor& x) const {
  TORCH_CHECK(x.dim() >= 2 && x.dim() <= 5 && x.size(1) == options.num_features(), options.spec(),
              ": expected an input of ", "2 to 5 dimensions with ", options.num_features(),
              " channels, got input size ", x.sizes());
  const int64_t values = x.numel() / x.size(1);
  TORCH_CHECK_VALUE(!uses_batch() || values != 1,
                    "Expected more than 1 value per channel when training, got input size ", x.sizes());
}

}  // namespace samplenorm
