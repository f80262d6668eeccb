#include <ATen/ATen.h>

#include "samplenorm/norm.h"

namespace samplenorm {

std::tuple<torch::Tensor, torch::Tensor> statistics_of_batches(const torch::Tensor& means,
                                                               const torch::Tensor& variances) {
  TORCH_CHECK_VALUE(means.dim() == 2 && means.sizes() == variances.sizes() && means.size(0) > 0,
                    "samplenorm::statistics_of_batches: expected means and variances of size [batches, channels], got ",
                    means.sizes(), " and ", variances.sizes());
  const at::Tensor exact = means.to(at::kDouble);
  return {exact.mean(0), variances.to(at::kDouble).mean(0) + exact.var(/*dim=*/0, /*unbiased=*/false)};
}

}  // namespace samplenorm
