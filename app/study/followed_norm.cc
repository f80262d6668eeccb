#include "study/followed_norm.h"

#include <torch/torch.h>

namespace samplenorm::study {
namespace {

NormOptions keeping_the_last(const NormOptions& options) {
  Spec spec = parse(options.spec());
  spec.decay = 1;
  return NormOptions(options).spec(to_string(spec));
}

}  // namespace

FollowedNorm::FollowedNorm(const NormOptions& options_, const std::vector<double>& alphas)
    : Norm(options_),
      norm_(register_module("norm", SampledBatchNorm(keeping_the_last(options_)))),
      alphas_(torch::tensor(alphas, torch::kDouble).unsqueeze(1)) {
  const auto zeros = [&] { return torch::zeros({alphas_.size(0), options.num_features()}, torch::kDouble); };
  means_ = register_buffer("means", zeros());
  variances_ = register_buffer("variances", zeros());
}

torch::Tensor FollowedNorm::forward(const torch::Tensor& x, const torch::Tensor& residual) {
  const auto y = norm_->forward(x, residual);
  if (!is_training()) return y;
  const torch::NoGradGuard no_gradients;
  const bool first = norm_->num_batches_tracked.item<int64_t>() == 1;
  const auto weight = first ? torch::ones_like(alphas_) : alphas_;
  means_.lerp_(norm_->running_mean.to(torch::kDouble).expand_as(means_), weight.expand_as(means_));
  variances_.lerp_(norm_->running_var.to(torch::kDouble).expand_as(variances_), weight.expand_as(variances_));
  return y;
}

void FollowedNorm::use(int64_t alpha) {
  const torch::NoGradGuard no_gradients;
  norm_->running_mean.copy_(means_[alpha]);
  norm_->running_var.copy_(variances_[alpha]);
}

}  // namespace samplenorm::study
