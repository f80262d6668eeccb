#pragma once

// A norm that notes, at every training step, how far the statistics of a sample are from those of the whole batch.

#include <optional>
#include <string>
#include <vector>

#include "samplenorm/norm.h"
#include "study/sample_points.h"

namespace samplenorm::study {

class WatchedNorm : public Norm {
 public:
  /// Normalizes as `options.spec()` says, and watches that sample; or, where given, the sample of `watched`, which has
  /// no part in the result and no virtual rows.
  explicit WatchedNorm(const NormOptions& options, const std::string& watched = "");

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) override;

  /// For each training step: the distance of the sample's means from those of all real rows, and of its deviations,
  /// each the 2-norm over channels divided by the square root of their number.
  std::vector<double> mean_errors;
  std::vector<double> deviation_errors;
  /// The sample's means, and its variances as running statistics take them, unbiased: (C) each, in float64.
  std::vector<torch::Tensor> means;
  std::vector<torch::Tensor> variances;
  /// The real rows of the last training step.
  torch::Tensor input;

  void forget();
  /// Evaluates with these from now on.
  void set_running_statistics(const torch::Tensor& mean, const torch::Tensor& variance);

 private:
  void note(const torch::Tensor& x);
  Sample sample_of(const torch::Tensor& x, const Shape& shape) const;

  SampledBatchNorm norm_;
  std::optional<Spec> watched_;
};

}  // namespace samplenorm::study
