#include <ATen/ATen.h>

#include "nn/operators.h"
#include "samplenorm/norm.h"

namespace samplenorm {
namespace {

/// Tensors all the way, so that nothing waits for a device.
void move_by_tensors(const RunningStatistics& running, const at::Tensor& mean, const at::Tensor& var) {
  at::Tensor running_mean = *running.mean, running_var = *running.var, batches = *running.num_batches_tracked;
  batches.add_(1);
  const at::Tensor count = batches.to(running_mean.scalar_type());
  at::Tensor share = running.momentum ? at::full_like(count, *running.momentum) : count.reciprocal();
  if (running.first_is_batch) share = at::where(batches.eq(1), at::ones_like(share), share);
  running_mean.lerp_(mean.mean(0).to(running_mean.scalar_type()), share);
  running_var.lerp_(var.mean(0).to(running_var.scalar_type()), share.to(running_var.scalar_type()));
}

/// Moves `running` towards the mean over the chunks of `batch` by `share`, with at::lerp's arithmetic.
template <class T>
void move_towards(const at::Tensor& running, const at::Tensor& batch, T share) {
  T* values = running.data_ptr<T>();
  const T* batch_values = batch.const_data_ptr<T>();
  const int64_t chunks = batch.size(0), channels = batch.size(1), step = batch.stride(0);
  for (int64_t c = 0; c < channels; ++c) {
    T sum = 0;
    for (int64_t k = 0; k < chunks; ++k) sum += batch_values[k * step + c];
    const T target = sum / static_cast<T>(chunks), change = target - values[c];
    values[c] = share < T{0.5} ? values[c] + share * change : target - change * (1 - share);
  }
}

/// Whether move_towards can write there.
bool is_plain(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.is_cpu() && (tensor.dim() == 0 || tensor.stride(-1) == 1) && tensor.scalar_type() == type &&
         !tensor.is_inference() && tensor.has_storage();
}

}  // namespace

void move_running_statistics(const RunningStatistics& running, const at::Tensor& mean, const at::Tensor& var) {
  TORCH_CHECK(running.mean && running.var && running.num_batches_tracked,
              "samplenorm: expected running statistics all three, mean, variance and number of batches, or none");
  const at::NoGradGuard no_gradients;
  const auto type = mean.scalar_type();
  const bool plain = is_plain(*running.mean, type) && is_plain(*running.var, type) && is_plain(mean, type) &&
                     is_plain(var, type) && is_plain(*running.num_batches_tracked, at::kLong) &&
                     (type == at::kFloat || type == at::kDouble);
  if (!plain) return move_by_tensors(running, mean, var);

  // In one go: ten small ATen calls cost a small layer more than its kernels.
  const int64_t count = ++*running.num_batches_tracked->data_ptr<int64_t>();
  double share = running.momentum ? *running.momentum : 1 / static_cast<double>(count);
  if (running.first_is_batch && count == 1) share = 1;
  AT_DISPATCH_FLOATING_TYPES(type, "samplenorm::statistics", [&] {
    move_towards(*running.mean, mean, static_cast<scalar_t>(share));
    move_towards(*running.var, var, static_cast<scalar_t>(share));
  });
}

std::tuple<torch::Tensor, torch::Tensor> statistics_of_batches(const torch::Tensor& means,
                                                               const torch::Tensor& variances) {
  TORCH_CHECK_VALUE(means.dim() == 2 && means.sizes() == variances.sizes() && means.size(0) > 0,
                    "samplenorm::statistics_of_batches: expected means and variances of size [batches, channels], got ",
                    means.sizes(), " and ", variances.sizes());
  const at::Tensor exact = means.to(at::kDouble);
  return {exact.mean(0), variances.to(at::kDouble).mean(0) + exact.var(/*dim=*/0, /*unbiased=*/false)};
}

}  // namespace samplenorm
