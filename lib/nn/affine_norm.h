#pragma once

#include <torch/torch.h>

#include "nn/activation.h"
#include "samplenorm/norm.h"

namespace samplenorm {

/// The part that the comparison norms share: weight and bias, a mean and a spread that run along in training and serve
/// evaluation.
class AffineNorm : public Norm {
 public:
  /// `spread_name` is the key of the second running statistic; empty: the norm keeps none.
  AffineNorm(const NormOptions& norm_options, const std::string& spread_name);

  void reset() override;

 protected:
  /// (C) as something that broadcasts over x.
  static torch::Tensor per_channel(const torch::Tensor& values, const torch::Tensor& x);
  /// All dimensions of x but the channels.
  static std::vector<int64_t> all_but_channels(const torch::Tensor& x);

  /// weight * xhat + bias (+ residual), ReLU.
  torch::Tensor scale_and_finish(const torch::Tensor& xhat, const torch::Tensor& residual) const;
  /// Whether statistics come from the batch: in training, and where none are kept.
  bool uses_batch() const { return is_training() || !running_mean.defined(); }
  void update_running(const torch::Tensor& mean, const torch::Tensor& spread);
  void check(const torch::Tensor& x) const;

  torch::Tensor weight, bias;
  torch::Tensor running_mean, running_spread, num_batches_tracked;
};

}  // namespace samplenorm
