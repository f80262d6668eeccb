#include <ATen/ATen.h>
#include <torch/library.h>

#include "nn/operators.h"
#include "nn/steps.h"
#include "samplenorm/norm.h"

namespace samplenorm {
namespace {

void check(const at::Tensor& running_mean, const at::Tensor& running_var, const at::Tensor& mean,
           const at::Tensor& var) {
  TORCH_CHECK(mean.dim() == 2 && mean.sizes() == var.sizes(),
              "samplenorm::update_running_statistics_: expected mean and var of size [chunks, channels], got ",
              mean.sizes(), " and ", var.sizes());
  for (const at::Tensor& running : {running_mean, running_var})
    TORCH_CHECK(running.dim() == 1 && running.size(0) == mean.size(1),
                "samplenorm::update_running_statistics_: expected running statistics of size [", mean.size(1),
                "], got ", running.sizes());
}

void update(at::Tensor running_mean, at::Tensor running_var, at::Tensor num_batches_tracked, const at::Tensor& mean,
            const at::Tensor& var, std::optional<double> momentum, bool first_is_batch) {
  check(running_mean, running_var, mean, var);
  // Tensors all the way, so that nothing waits for a device or breaks a traced graph.
  num_batches_tracked.add_(1);
  const at::Tensor count = num_batches_tracked.to(running_mean.scalar_type());
  at::Tensor share = momentum ? at::full_like(count, *momentum) : count.reciprocal();
  if (first_is_batch) share = at::where(num_batches_tracked.eq(1), at::ones_like(share), share);
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

/// The same in one go: ten small ATen calls cost a small layer more than its kernels.
void update_on_cpu(at::Tensor running_mean, at::Tensor running_var, at::Tensor num_batches_tracked,
                   const at::Tensor& mean, const at::Tensor& var, std::optional<double> momentum, bool first_is_batch) {
  check(running_mean, running_var, mean, var);
  const auto is_plain = [&](const at::Tensor& tensor) {
    return tensor.stride(-1) == 1 && tensor.scalar_type() == mean.scalar_type() && !tensor.is_inference();
  };
  const bool plain = is_plain(running_mean) && is_plain(running_var) && is_plain(var) && mean.stride(-1) == 1 &&
                     num_batches_tracked.scalar_type() == at::kLong && !num_batches_tracked.is_inference() &&
                     (mean.scalar_type() == at::kFloat || mean.scalar_type() == at::kDouble);
  if (!plain) return update(running_mean, running_var, num_batches_tracked, mean, var, momentum, first_is_batch);

  const int64_t count = ++*num_batches_tracked.data_ptr<int64_t>();
  double share = momentum ? *momentum : 1 / static_cast<double>(count);
  if (first_is_batch && count == 1) share = 1;
  AT_DISPATCH_FLOATING_TYPES(mean.scalar_type(), "samplenorm::update_running_statistics_", [&] {
    move_towards(running_mean, mean, static_cast<scalar_t>(share));
    move_towards(running_var, var, static_cast<scalar_t>(share));
  });
  for (const at::Tensor& changed : {running_mean, running_var, num_batches_tracked})
    changed.unsafeGetTensorImpl()->bump_version();
}

}  // namespace

void update_running_statistics_(at::Tensor& running_mean, at::Tensor& running_var, at::Tensor& num_batches_tracked,
                                const at::Tensor& mean, const at::Tensor& var, std::optional<double> momentum,
                                bool first_is_batch) {
  static const auto op = registered<decltype(update)>("samplenorm::update_running_statistics_");
  op.call(running_mean, running_var, num_batches_tracked, mean, var, momentum, first_is_batch);
}

std::tuple<torch::Tensor, torch::Tensor> statistics_of_batches(const torch::Tensor& means,
                                                               const torch::Tensor& variances) {
  TORCH_CHECK_VALUE(means.dim() == 2 && means.sizes() == variances.sizes() && means.size(0) > 0,
                    "samplenorm::statistics_of_batches: expected means and variances of size [batches, channels], got ",
                    means.sizes(), " and ", variances.sizes());
  const at::Tensor exact = means.to(at::kDouble);
  return {exact.mean(0), variances.to(at::kDouble).mean(0) + exact.var(/*dim=*/0, /*unbiased=*/false)};
}

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def(
      "update_running_statistics_(Tensor(a!) running_mean, Tensor(b!) running_var, Tensor(c!) num_batches_tracked, "
      "Tensor mean, Tensor var, float? momentum, bool first_is_batch) -> ()");
}

TORCH_LIBRARY_IMPL(samplenorm, CPU, library) { library.impl("update_running_statistics_", update_on_cpu); }

TORCH_LIBRARY_IMPL(samplenorm, CompositeExplicitAutograd, library) {
  library.impl("update_running_statistics_", update);
}

}  // namespace samplenorm
