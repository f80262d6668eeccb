#include "nn/operators.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <torch/library.h>

#include <algorithm>

#include "nn/activation.h"
#include "nn/checks.h"
#include "nn/driver.h"

namespace samplenorm {
namespace meta {
namespace {

SAMPLENORM_FORWARD(forward) {
  (void)key, (void)eps, (void)rank, (void)num_batches_tracked, (void)momentum, (void)first_is_batch;
  const DimVector sizes = whole_sizes(x);
  check_forward(x, sizes, weight, bias, residual, activation, running_mean, running_var);
  const PlanSizes plan = plan_sizes(sizes, parsed(spec), !group.empty(), ranks);
  return empty_outputs(x, plan, keep, lean, needs_mask(residual, activation)).tuple();
}

SAMPLENORM_BACKWARD(backward) {
  (void)weight, (void)bias, (void)key, (void)rank;
  const DimVector sizes = whole_sizes(x);
  const Normalized saved{{}, statistics, sample, mask.value_or(at::Tensor())};
  check_backward(dy, x, sizes, saved, plan_sizes(sizes, parsed(spec), !group.empty(), ranks), activation, lean);
  return empty_gradients(x, saved, want_dx).tuple();
}

}  // namespace
}  // namespace meta

Normalized sampled_batch_norm(at::TensorList x, const at::Tensor& weight, const at::Tensor& bias,
                              const at::Tensor& residual, const std::string& spec, const at::Tensor& key, double eps,
                              const std::string& activation, bool lean, const std::string& group, int64_t rank,
                              int64_t ranks, bool keep, const RunningStatistics& running) {
  static const auto op = registered<decltype(driver::forward<registered_steps>)>("samplenorm::sampled_batch_norm");
  auto [y, statistics, sample, mask] = op.call(
      x, if_defined(weight), if_defined(bias), if_defined(residual), spec, key, eps, activation, lean, group, rank,
      ranks, keep, running.mean, running.var, running.num_batches_tracked, running.momentum, running.first_is_batch);
  return {y, statistics, sample, mask};
}

at::Tensor key_tensor(at::IntArrayRef numbers) {
  // Not at::tensor(), whose result torch.func would wrap before it is filled.
  at::Tensor key = at::detail::empty_cpu({std::ssize(numbers)}, at::kLong);
  std::ranges::copy(numbers, key.mutable_data_ptr<int64_t>());
  return key;
}

Gradients sampled_batch_norm_backward(const at::Tensor& dy, at::TensorList x, const at::Tensor& weight,
                                      const at::Tensor& bias, const Normalized& saved, const std::string& spec,
                                      const at::Tensor& key, const std::string& activation, bool lean,
                                      const std::string& group, int64_t rank, int64_t ranks, bool want_dx) {
  static const auto op =
      registered<decltype(driver::backward<registered_steps>)>("samplenorm::sampled_batch_norm_backward");
  auto [dx, dweight, dbias, dresidual] =
      op.call(dy, x, if_defined(weight), if_defined(bias), saved.statistics, saved.sample, mask_of(saved.mask), spec,
              key, activation, lean, group, rank, ranks, want_dx);
  return {std::move(dx), dweight, dbias, dresidual};
}

// A CUDA graph would replay the sample of its capture: torch.compile leaves operators with this tag out of its graphs.
static const std::vector<at::Tag> kTags = {at::Tag::cudagraph_unsafe};

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def("activate(Tensor z, str activation) -> Tensor");
  library.def(
      "sampled_batch_norm(Tensor[] x, Tensor? weight, Tensor? bias, Tensor? residual, str spec, Tensor key, float eps, "
      "str activation=\"identity\", bool lean=False, str group=\"\", int rank=0, int ranks=1, bool keep=False, "
      "Tensor(a!)? running_mean=None, Tensor(b!)? running_var=None, Tensor(c!)? num_batches_tracked=None, "
      "float? momentum=None, bool first_is_batch=False) -> (Tensor y, Tensor statistics, Tensor sample, Tensor mask)",
      kTags);
  library.def(
      "sampled_batch_norm_backward(Tensor dy, Tensor[] x, Tensor? weight, Tensor? bias, Tensor statistics, "
      "Tensor sample, Tensor? mask, str spec, Tensor key, str activation=\"identity\", bool lean=False, "
      "str group=\"\", int rank=0, int ranks=1, bool want_dx=True) -> "
      "(Tensor[] dx, Tensor dweight, Tensor dbias, Tensor dresidual)",
      kTags);
}

TORCH_LIBRARY_IMPL(samplenorm, CompositeImplicitAutograd, library) { library.impl("activate", activate); }

TORCH_LIBRARY_IMPL(samplenorm, CompositeExplicitAutograd, library) {
  library.impl("sampled_batch_norm", driver::forward<registered_steps>);
  library.impl("sampled_batch_norm_backward", driver::backward<registered_steps>);
}

TORCH_LIBRARY_IMPL(samplenorm, Meta, library) {
  library.impl("sampled_batch_norm", meta::forward);
  library.impl("sampled_batch_norm_backward", meta::backward);
}

}  // namespace samplenorm
