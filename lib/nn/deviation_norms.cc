// Batch normalization with a cheaper measure of spread than the variance:
//   L1BN (Wu et al. 2018):     sigma = mean |x - mu|
//   RBN  (Banner et al. 2018): sigma = (max(x - mu) - min(x - mu)) / sqrt(2 ln n), n values per channel
// and xhat = (x - mu) / (sigma + eps). Their gradients are those of these formulas, by autograd.

#include <cmath>

#include "nn/affine_norm.h"
#include "nn/comparison_norms.h"

namespace samplenorm {
namespace {

/// The spread per channel of centred data.
using Spread = torch::Tensor (*)(const torch::Tensor& centred, at::IntArrayRef dims);

torch::Tensor mean_absolute(const torch::Tensor& centred, at::IntArrayRef dims) { return centred.abs().mean(dims); }

torch::Tensor scaled_range(const torch::Tensor& centred, at::IntArrayRef dims) {
  const auto values = static_cast<double>(centred.numel() / centred.size(1));
  return (centred.amax(dims) - centred.amin(dims)) / std::sqrt(2 * std::log(values));
}

class DeviationNorm : public AffineNorm {
 public:
  DeviationNorm(const NormOptions& norm_options, Spread spread)
      : AffineNorm(norm_options, "running_sigma"), spread_(spread) {}

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual) override {
    check(x);
    if (x.numel() == 0) return scale_and_finish(x, residual);
    torch::Tensor mean = running_mean, sigma = running_spread;
    if (uses_batch()) {
      const auto dims = all_but_channels(x);
      mean = x.mean(dims);
      sigma = spread_(x - per_channel(mean, x), dims);
      update_running(mean, sigma);
    }
    const torch::Tensor xhat = (x - per_channel(mean, x)) / (per_channel(sigma, x) + options.eps());
    return scale_and_finish(xhat, residual);
  }

 private:
  Spread spread_;
};

template <Spread kSpread>
std::shared_ptr<Norm> make(const NormOptions& options, int64_t) {
  return std::make_shared<DeviationNorm>(options, kSpread);
}

}  // namespace

const ComparisonNorm l1_batch_norm = {"L1BN", false, "L1 batch normalization", "deviation from mean |x - mu|",
                                      make<mean_absolute>};
const ComparisonNorm range_batch_norm = {"RBN", false, "range batch normalization", "deviation from max - min",
                                         make<scaled_range>};

}  // namespace samplenorm
