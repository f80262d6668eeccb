#include "study/watched_norm.h"

#include <torch/torch.h>

#include <cmath>

namespace samplenorm::study {
namespace {

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).norm().item<double>() / std::sqrt(static_cast<double>(a.numel()));
}

}  // namespace

WatchedNorm::WatchedNorm(const NormOptions& options_, int64_t steps, const std::string& watched)
    : Norm(options_), norm_(register_module("norm", SampledBatchNorm(options_))) {
  if (!watched.empty()) watched_ = parse(watched);
  noted_ = register_buffer("noted", torch::zeros({}, torch::kLong));
  mean_errors_ = register_buffer("mean_errors", torch::zeros(steps, torch::kDouble));
  deviation_errors_ = register_buffer("deviation_errors", torch::zeros(steps, torch::kDouble));
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
  const int64_t virtual_rows = norm_->virtual_rows(), step = noted_.item<int64_t>();
  const Shape shape{virtual_rows, x.size(0) - virtual_rows, 1, x.size(2), x.size(3)};
  input = x.narrow(0, virtual_rows, shape.rows);
  const bool notes_errors = step < mean_errors_.size(0);
  if (!notes_errors && !means) return;
  const auto sampled = statistics_of(x, sample_of(x, shape), shape);
  if (means) means->push_back(sampled.mean);
  if (!notes_errors) return;
  const auto [variance, mean] = torch::var_mean(input.to(torch::kDouble), {0, 2, 3}, /*unbiased=*/false);
  mean_errors_[step] = distance(sampled.mean, mean);
  deviation_errors_[step] = distance(sampled.variance.sqrt(), variance.sqrt());
  noted_.add_(1);
}

}  // namespace samplenorm::study
