#pragma once

// A norm whose running statistics are followed for several alphas, the weight of the newest ones, at once: alpha has no
// part in training, so that one run serves them all.

#include <vector>

#include "samplenorm/norm.h"

namespace samplenorm::study {

class FollowedNorm : public Norm {
 public:
  FollowedNorm(const NormOptions& options, const std::vector<double>& alphas);

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) override;

  /// Evaluates with the moving averages of the alpha of this index from now on.
  void use(int64_t alpha);

 private:
  SampledBatchNorm norm_;  // its running statistics are those of the last step
  torch::Tensor alphas_;   // (A, 1)
  // Buffers, so that checkpoints keep them: (A, C), as the paper has them, with the first step's value to begin with.
  torch::Tensor means_;
  torch::Tensor variances_;
};

}  // namespace samplenorm::study
