#include "study/watched_norm.h"

#include <torch/torch.h>

#include <cmath>

namespace samplenorm::study {
namespace {

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).norm().item<double>() / std::sqrt(static_cast<double>(a.numel()));
}

}  // namespace

WatchedNorm::WatchedNorm(const NormOptions& options_, const std::string& watched)
    : Norm(options_), norm_(register_module("norm", SampledBatchNorm(options_))) {
  if (!watched.empty()) watched_ = parse(watched);
}

torch::Tensor WatchedNorm::forward(const torch::Tensor& x, const torch::Tensor& residual) {
  if (is_training()) note(x.detach());
  return norm_->forward(x, residual);
}

Sample WatchedNorm::sample_of(const torch::Tensor& x, const Shape& shape) const {
  if (watched_) return draw(*watched_, shape, norm_->key);
  return norm_->sample(x.sizes()).front();
}

void WatchedNorm::note(const torch::Tensor& x) {
  const int64_t virtual_rows = norm_->virtual_rows();
  const Shape shape{virtual_rows, x.size(0) - virtual_rows, 1, x.size(2), x.size(3)};
  input = x.narrow(0, virtual_rows, shape.rows);
  const auto sampled = statistics_of(x, sample_of(x, shape), shape);
  const auto [variance, mean] = torch::var_mean(input.to(torch::kDouble), {0, 2, 3}, /*unbiased=*/false);
  mean_errors.push_back(distance(sampled.mean, mean));
  deviation_errors.push_back(distance(sampled.variance.sqrt(), variance.sqrt()));
  means.push_back(sampled.mean);
  variances.push_back(sampled.unbiased_variance);
}

void WatchedNorm::forget() {
  mean_errors.clear();
  deviation_errors.clear();
  means.clear();
  variances.clear();
}

void WatchedNorm::set_running_statistics(const torch::Tensor& mean, const torch::Tensor& variance) {
  const torch::NoGradGuard no_gradients;
  norm_->running_mean.copy_(mean);
  norm_->running_var.copy_(variance);
}

}  // namespace samplenorm::study
