#include <ATen/ATen.h>
#include <torch/library.h>

#include "nn/operators.h"

namespace samplenorm {
namespace {

void update(at::Tensor running_mean, at::Tensor running_var, at::Tensor num_batches_tracked, const at::Tensor& mean,
            const at::Tensor& var, std::optional<double> momentum, bool first_is_batch) {
  TORCH_CHECK(mean.dim() == 2 && mean.sizes() == var.sizes(),
              "samplenorm::update_running_statistics_: expected mean and var of size [chunks, channels], got ",
              mean.sizes(), " and ", var.sizes());
  for (const at::Tensor& running : {running_mean, running_var})
    TORCH_CHECK(running.dim() == 1 && running.size(0) == mean.size(1),
                "samplenorm::update_running_statistics_: expected running statistics of size [", mean.size(1),
                "], got ", running.sizes());

  // Tensors all the way, so that nothing waits for a device or breaks a traced graph.
  num_batches_tracked.add_(1);
  const at::Tensor count = num_batches_tracked.to(running_mean.scalar_type());
  at::Tensor share = momentum ? at::full_like(count, *momentum) : count.reciprocal();
  if (first_is_batch) share = at::where(num_batches_tracked.eq(1), at::ones_like(share), share);
  running_mean.lerp_(mean.mean(0).to(running_mean.scalar_type()), share);
  running_var.lerp_(var.mean(0).to(running_var.scalar_type()), share.to(running_var.scalar_type()));
}

}  // namespace

void update_running_statistics_(at::Tensor& running_mean, at::Tensor& running_var, at::Tensor& num_batches_tracked,
                                const at::Tensor& mean, const at::Tensor& var, std::optional<double> momentum,
                                bool first_is_batch) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("samplenorm::update_running_statistics_", "")
                             .typed<decltype(update)>();
  op.call(running_mean, running_var, num_batches_tracked, mean, var, momentum, first_is_batch);
}

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def(
      "update_running_statistics_(Tensor(a!) running_mean, Tensor(b!) running_var, Tensor(c!) num_batches_tracked, "
      "Tensor mean, Tensor var, float? momentum, bool first_is_batch) -> ()");
}

TORCH_LIBRARY_IMPL(samplenorm, CompositeExplicitAutograd, library) {
  library.impl("update_running_statistics_", update);
}

}  // namespace samplenorm
