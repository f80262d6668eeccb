#include "nn/driver.h"

#include <ATen/ATen.h>

#include <cmath>

#include "comm/pool.h"
#include "nn/activation.h"
#include "nn/checks.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace {

/// What processes exchange goes through the CPU, in float64.
at::Tensor for_exchange(const at::Tensor& tensor) {
  return tensor.to(at::kCPU, at::kDouble, false, /*copy=*/true).contiguous();
}
std::span<double> line_of(const at::Tensor& tensor, int64_t line) {
  const int64_t size = tensor.size(-1);
  return {tensor.mutable_data_ptr<double>() + line * size, static_cast<size_t>(size)};
}
at::Tensor counts_of(const std::vector<double>& points, const at::Tensor& like) {
  return at::tensor(points, at::kDouble).view({1, -1}).to(like.options());
}

/// moments and counts become those of all processes.
void pool(Communicator& processes, const Plan& plan, at::IntArrayRef sizes, std::string_view notation,
          at::Tensor& moments, at::Tensor& counts) {
  const at::Tensor values = for_exchange(moments);
  std::vector<WeightedMoments> groups;
  for (size_t g = 0; g < plan.weights.size(); ++g) {
    const auto line = static_cast<int64_t>(2 * g);
    const auto count = static_cast<double>(plan.counts[g]);
    groups.push_back({plan.weights[g], {count, line_of(values, line), line_of(values, line + 1)}});
    for (double& value : groups.back().moments.m2) value *= count * value;  // a deviation so far
  }
  pool_moments(processes, plan.contributors, groups);
  std::vector<double> points;
  for (const auto& [weight, pooled] : groups) {
    points.push_back(pooled.count);
    for (double& value : pooled.m2) value = std::sqrt(value / pooled.count);
  }
  check_values_per_channel(points, sizes, notation);
  moments = values.to(moments.options());
  counts = counts_of(points, counts);
}

/// sums and counts become those of all processes.
void pool(Communicator& processes, const Plan& plan, at::Tensor& sums, at::Tensor& counts) {
  const at::Tensor values = for_exchange(sums);
  std::vector<double> points(plan.counts.begin(), plan.counts.end());
  pool_gradients(processes, line_of(values, 0), line_of(values, 1), points);
  sums = values.to(sums.options());
  counts = counts_of(points, counts);
}

/// Statistics by which y's deviation is x's: xhat = (y - bias) / weight.
at::Tensor seen_from_y(const at::Tensor& statistics, const OptionalTensor& weight, const OptionalTensor& bias) {
  at::Tensor seen = statistics.clone();
  seen.select(1, kMean).copy_(bias.value_or(at::zeros({}, statistics.options())));
  seen.select(1, kRstd).copy_(weight ? weight->reciprocal() : at::ones({}, statistics.options()));
  return seen;
}

/// Backward from the statistics on. `seen` are those for x, which is y in the lean mode.
Gradients gradients_by(const Steps& steps, const at::Tensor& dy, at::TensorList x, const OptionalTensor& mask,
                       const at::Tensor& statistics, const at::Tensor& seen, const at::Tensor& sample, const Plan& plan,
                       std::string_view activation, bool lean, bool want_dx, Communicator* processes) {
  const bool whole = plan.sizes.room == 0;  // dx then needs the sums everywhere: a second pass
  const Plan::Tensors tensors = plan.on(x[0].device());
  auto [dx, sums, dresidual] =
      steps.backward(dy, x, mask, seen, std::nullopt, plan.rows, activation, lean, want_dx && !whole);
  at::Tensor pooled = sums, counts = tensors.counts;
  if (processes) pool(*processes, plan, pooled, counts);
  auto [dweight, dbias, correction] = steps.gradients(sums, pooled, statistics, counts, plan.weights);
  if (want_dx && whole) {
    std::tie(dx, sums, dresidual) = steps.backward(dy, x, mask, seen, correction, plan.rows, activation, lean, true);
  } else if (want_dx) {
    steps.correct(dx, sample, statistics, correction, tensors.points, plan.rows, plan.counts);
  }
  return {std::move(dx), dweight, dbias, dresidual};
}

}  // namespace

bool needs_mask(const OptionalTensor& residual, std::string_view activation) {
  return residual && residual->defined() && activation_of(activation).kind != Activation::Kind::kIdentity;
}

OptionalTensor mask_of(const OptionalTensor& mask) {
  return mask && mask->defined() && mask->dim() != 1 ? mask : std::nullopt;
}

Normalized empty_outputs(at::TensorList x, const PlanSizes& plan, bool keep, bool has_mask) {
  const std::vector<int64_t> bounds(static_cast<size_t>(plan.chunks + 1), 0),
      counts(static_cast<size_t>(plan.chunks * plan.groups), 0);
  const auto [moments, sample] = meta_steps.moments(x, {}, bounds, counts, keep ? plan.room : 0);
  at::Tensor statistics = meta_steps.statistics(moments, {}, {}, {}, {}, 0);
  if (c10::multiply_integers(x[0].sizes()) == 0) statistics.zero_();
  const auto [y, mask] = meta_steps.apply(x, {}, statistics, bounds, {}, keep && has_mask);
  return {y, statistics, sample, mask};
}

Gradients empty_gradients(at::TensorList x, const Normalized& saved, bool want_dx) {
  auto [dx, sums, dresidual] =
      meta_steps.backward({}, x, mask_of(saved.mask), saved.statistics, std::nullopt, {}, {}, false, want_dx);
  auto [dweight, dbias, correction] = meta_steps.gradients(sums, sums, saved.statistics, {}, {});
  if (c10::multiply_integers(x[0].sizes()) == 0) {
    dweight.zero_();
    dbias.zero_();
  }
  return {std::move(dx), dweight, dbias, dresidual};
}

template <const Steps& steps>
SAMPLENORM_FORWARD(driver::forward) {
  (void)lean;
  const DimVector sizes = whole_sizes(x);
  const auto plan = find_plan(sizes, spec, key_of(key, rank, ranks), !group.empty());
  const OptionalTensor gamma = if_defined(weight), beta = if_defined(bias), added = if_defined(residual);
  check_forward(x, sizes, gamma, beta, added, activation);
  const auto processes = communicator_of(group, rank, ranks);
  const bool has_mask = needs_mask(added, activation);
  if (c10::multiply_integers(sizes) == 0 && !processes) return empty_outputs(x, plan->sizes, keep, has_mask).tuple();

  const Plan::Tensors tensors = plan->on(x[0].device());
  auto [moments, sample] = steps.moments(x, tensors.points, plan->rows, plan->counts, keep ? plan->sizes.room : 0);
  at::Tensor counts = tensors.counts;
  if (processes) pool(*processes, *plan, sizes, spec, moments, counts);
  const at::Tensor statistics = steps.statistics(moments, counts, plan->weights, gamma, beta, eps);
  auto [y, mask] = steps.apply(x, added, statistics, plan->rows, activation, keep && has_mask);
  return {y, statistics, sample, mask};
}

template <const Steps& steps>
SAMPLENORM_BACKWARD(driver::backward) {
  const DimVector sizes = whole_sizes(x);
  const auto plan = find_plan(sizes, spec, key_of(key, rank, ranks), !group.empty());
  const Normalized saved{{}, statistics, sample, mask.value_or(at::Tensor())};
  check_backward(dy, x, sizes, saved, plan->sizes, activation, lean);
  const auto processes = communicator_of(group, rank, ranks);
  if (c10::multiply_integers(sizes) == 0 && !processes) return empty_gradients(x, saved, want_dx).tuple();
  const at::Tensor seen = lean ? seen_from_y(statistics, if_defined(weight), if_defined(bias)) : statistics;
  return gradients_by(steps, dy, x, mask_of(mask), statistics, seen, sample, *plan, activation, lean, want_dx,
                      processes.get())
      .tuple();
}

template SAMPLENORM_FORWARD(driver::forward<registered_steps>);
template SAMPLENORM_BACKWARD(driver::backward<registered_steps>);
template SAMPLENORM_FORWARD(driver::forward<aten_steps>);
template SAMPLENORM_BACKWARD(driver::backward<aten_steps>);

Gradients differentiable_gradients(const at::Tensor& dy, at::TensorList x, const OptionalTensor& weight,
                                   const OptionalTensor& bias, const at::Tensor& mask, const Plan& plan, double eps,
                                   std::string_view activation) {
  const Plan::Tensors tensors = plan.on(x[0].device());
  const auto [moments, sample] = aten_steps.moments(x, tensors.points, plan.rows, plan.counts, plan.sizes.room);
  const at::Tensor statistics = aten_steps.statistics(moments, tensors.counts, plan.weights, weight, bias, eps);
  return gradients_by(aten_steps, dy, x, mask_of(mask), statistics, statistics, sample, plan, activation,
                      /*lean=*/false, /*want_dx=*/true, nullptr);
}

}  // namespace samplenorm
