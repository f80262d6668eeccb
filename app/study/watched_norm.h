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
  /// no part in the result and no virtual rows. Notes errors in the first `steps` training steps.
  WatchedNorm(const NormOptions& options, int64_t steps, const std::string& watched = "");

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) override;

  /// For each step that was noted: the distance of the sample's means from those of all real rows, and of its
  /// deviations, each the 2-norm over channels divided by the square root of their number. In float64.
  torch::Tensor mean_errors() const { return mean_errors_.narrow(0, 0, noted_.item<int64_t>()); }
  torch::Tensor deviation_errors() const { return deviation_errors_.narrow(0, 0, noted_.item<int64_t>()); }

  /// The real rows of the last training step.
  torch::Tensor input;
  /// The sample's means at every training step since this was set to an empty list: (C) each, in float64.
  std::optional<std::vector<torch::Tensor>> means;

 private:
  void note(const torch::Tensor& x);
  Sample sample_of(const torch::Tensor& x, const Shape& shape) const;

  SampledBatchNorm norm_;
  std::optional<Spec> watched_;
  // Buffers, so that checkpoints keep them.
  torch::Tensor noted_;  // how many
  torch::Tensor mean_errors_;
  torch::Tensor deviation_errors_;
};

}  // namespace samplenorm::study
