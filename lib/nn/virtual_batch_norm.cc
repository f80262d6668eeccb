// Virtual batch normalization (Salimans et al. 2016). The first r rows are a fixed reference batch of real data, put
// there by a VirtualBatch. They are normalized by their own statistics; every other row by those of the r + 1 rows that
// are the reference batch and itself. In evaluation the running statistics of the reference batch serve, and there are
// no such rows.

#include "nn/affine_norm.h"
#include "nn/comparison_norms.h"

namespace samplenorm {
namespace {

class VirtualBatchNorm : public AffineNorm {
 public:
  VirtualBatchNorm(const NormOptions& norm_options, int64_t reference_rows)
      : AffineNorm(norm_options, "running_var"), reference_rows_(reference_rows) {}

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual) override {
    if (!is_training()) {
      check(x);
      return finish(torch::batch_norm(x, weight, bias, running_mean, running_spread, !running_mean.defined(), 0,
                                      options.eps(), torch::globalContext().userEnabledCuDNN()),
                    residual, options.activation());
    }
    TORCH_CHECK_VALUE(x.size(0) > reference_rows_, options.spec(), ": expected real rows behind the ", reference_rows_,
                      " reference rows, got input size ", x.sizes(),
                      " (is there a VirtualBatch at the network's input?)");
    check(x);
    const torch::Tensor reference = x.narrow(0, 0, reference_rows_);
    const torch::Tensor others = x.narrow(0, reference_rows_, x.size(0) - reference_rows_);
    const auto dims = all_but_channels(x);
    const torch::Tensor mean = reference.mean(dims, /*keepdim=*/true);
    const torch::Tensor var = reference.var(dims, /*unbiased=*/false, true);
    update_running(mean.flatten(), var.flatten());

    // E[x^2] - E[x]^2 of deviations from the reference's mean, which are small against their spread: stable.
    const std::vector<int64_t> map(dims.begin() + 1, dims.end());
    const torch::Tensor deviation = others - mean;
    const auto over_map = [&](const torch::Tensor& t) { return map.empty() ? t : t.mean(map, true); };
    const double own_share = 1.0 / static_cast<double>(reference_rows_ + 1);
    const torch::Tensor shift = own_share * over_map(deviation);
    const torch::Tensor own_var = (1 - own_share) * var + own_share * over_map(deviation.square()) - shift.square();
    const auto normalize = [&](const torch::Tensor& centred, const torch::Tensor& v) {
      return centred * torch::rsqrt(v + options.eps());
    };
    return scale_and_finish(torch::cat({normalize(reference - mean, var), normalize(deviation - shift, own_var)}),
                            residual);
  }

  int64_t virtual_rows() const override { return reference_rows_; }

 private:
  int64_t reference_rows_;
};

std::shared_ptr<Norm> make(const NormOptions& options, int64_t reference_rows) {
  return std::make_shared<VirtualBatchNorm>(options, reference_rows);
}

}  // namespace

const ComparisonNorm virtual_batch_norm = {"VBN", true, "virtual batch normalization",
                                           "a fixed reference batch of n real rows, and the row itself", make};

}  // namespace samplenorm
