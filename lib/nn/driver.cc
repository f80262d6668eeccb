#include "nn/driver.h"

#include <ATen/ATen.h>

#include <cmath>

#include "comm/pool.h"
#include "nn/activation.h"
#include "nn/checks.h"
#include "nn/device_pool.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace {

/// What processes exchange goes through the CPU, in float64, unless their group reduces on the device.
at::Tensor for_exchange(const at::Tensor& tensor) {
  return tensor.to(at::kCPU, at::kDouble, false, /*copy=*/true).contiguous();
}
std::span<double> line_of(const at::Tensor& tensor, int64_t line) {
  const int64_t size = tensor.size(-1);
  return {tensor.mutable_data_ptr<double>() + line * size, static_cast<size_t>(size)};
}

bool serves_device(const Communicator& processes, const at::Tensor& tensor) {
  return !tensor.is_cpu() && processes.serves(c10::DeviceTypeName(tensor.device().type(), /*lower_case=*/true));
}

/// The moments of all processes.
at::Tensor pooled_moments(Communicator& processes, std::string_view group, const Plan& plan, at::IntArrayRef sizes,
                          std::string_view notation, const at::Tensor& moments) {
  if (serves_device(processes, moments)) return gathered_moments(moments, group, processes.size());
  const at::Tensor values = for_exchange(one_block(moments));
  std::vector<WeightedMoments> groups;
  for (size_t g = 0; g < plan.weights.size(); ++g) {
    const auto line = static_cast<int64_t>(3 * g);
    const auto count = static_cast<double>(plan.counts[g]);
    groups.push_back({plan.weights[g], {count, line_of(values, line + 1), line_of(values, line + 2)}});
    for (double& value : groups.back().moments.m2) value *= count * value;  // a deviation so far
  }
  pool_moments(processes, plan.contributors, groups);
  std::vector<double> points;
  for (const auto& [weight, pooled] : groups) {
    std::ranges::fill(line_of(values, 3 * std::ssize(points)), pooled.count);
    points.push_back(pooled.count);
    for (double& value : pooled.m2) value = std::sqrt(value / pooled.count);
  }
  check_values_per_channel(points, sizes, notation);
  return values.to(moments.options());
}

at::Tensor pooled_sums(Communicator& processes, std::string_view group, const at::Tensor& sums) {
  if (serves_device(processes, sums)) return reduced_sums(sums, group);
  const at::Tensor values = for_exchange(sums.sum(0, /*keepdim=*/true));
  processes.sum(std::span(values.mutable_data_ptr<double>(), static_cast<size_t>(values.numel())));
  return values.to(sums.options());
}

/// Statistics by which y's deviation is x's: xhat = (y - bias) / weight.
at::Tensor seen_from_y(const at::Tensor& statistics, const OptionalTensor& weight, const OptionalTensor& bias) {
  at::Tensor seen = statistics.clone();
  seen.select(1, kMean).copy_(bias.value_or(at::zeros({}, statistics.options())));
  seen.select(1, kRstd).copy_(weight ? weight->reciprocal() : at::ones({}, statistics.options()));
  return seen;
}

/// Whether a smooth f' takes longer to compute again than dx to read and write once more: on the CPU, where a point's
/// channels lie side by side and dx is not rounded to 16 bits in between.
bool prefers_correcting(at::TensorList x, std::string_view activation) {
  return x[0].is_cpu() && x[0].element_size() >= 4 && (x[0].dim() == 2 || lies_channels_last(x[0])) &&
         activation_of(activation).kind == Activation::Kind::kOther;
}

/// Backward from the statistics on. `seen` are those for x, which is y in the lean mode.
Gradients gradients_by(const Steps& steps, const at::Tensor& dy, at::TensorList x, const OptionalTensor& mask,
                       const at::Tensor& statistics, const at::Tensor& seen, const at::Tensor& sample, const Plan& plan,
                       std::string_view activation, bool lean, bool want_dx, Communicator* processes,
                       std::string_view group) {
  // A sample that is the whole needs the sums before dx: dx is written by a second pass, or corrected everywhere.
  const bool whole = plan.sizes.room == 0, corrects_all = whole && prefers_correcting(x, activation);
  const bool two_passes = whole && !corrects_all;
  auto [dx, sums, dresidual] =
      steps.backward(dy, x, mask, seen, std::nullopt, plan.rows, activation, lean, want_dx && !two_passes);
  const at::Tensor pooled = processes ? pooled_sums(*processes, group, sums) : sums;
  auto [dweight, dbias, correction] = steps.gradients(sums, pooled, statistics, plan.weights);
  if (want_dx && two_passes) {
    std::tie(dx, sums, dresidual) = steps.backward(dy, x, mask, seen, correction, plan.rows, activation, lean, true);
  } else if (want_dx) {
    const at::Tensor points =
        whole ? at::arange(plan.rows.back() * plan.map_points, at::kLong) : plan.points_on(x[0].device());
    steps.correct(dx, x, sample, statistics, correction, points, plan.rows, plan.counts);
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

Normalized empty_outputs(at::TensorList x, const PlanSizes& plan, bool keep, bool lean, bool has_mask) {
  const std::vector<int64_t> bounds(static_cast<size_t>(plan.chunks + 1), 0),
      counts(static_cast<size_t>(plan.chunks * plan.groups), 0);
  const auto [moments, sample] = meta_steps.moments(x, {}, bounds, counts, keep && lean ? plan.room : 0);
  at::Tensor statistics = meta_steps.statistics(moments, {}, {}, {}, 0, {}, {}, {}, {}, false);
  if (c10::multiply_integers(x[0].sizes()) == 0) statistics.zero_();
  const auto [y, mask] = meta_steps.apply(x, {}, statistics, bounds, {}, keep && has_mask);
  return {y, statistics, sample, mask};
}

Gradients empty_gradients(at::TensorList x, const Normalized& saved, bool want_dx) {
  auto [dx, sums, dresidual] =
      meta_steps.backward({}, x, mask_of(saved.mask), saved.statistics, std::nullopt, {}, {}, false, want_dx);
  auto [dweight, dbias, correction] = meta_steps.gradients(sums, sums, saved.statistics, {});
  if (c10::multiply_integers(x[0].sizes()) == 0) {
    dweight.zero_();
    dbias.zero_();
  }
  return {std::move(dx), dweight, dbias, dresidual};
}

template <const Steps& steps>
SAMPLENORM_FORWARD(driver::forward) {
  const DimVector sizes = whole_sizes(x);
  const auto plan = find_plan(sizes, spec, key_of(key, rank, ranks), !group.empty());
  const OptionalTensor gamma = if_defined(weight), beta = if_defined(bias), added = if_defined(residual);
  check_forward(x, sizes, gamma, beta, added, activation, running_mean, running_var);
  const auto processes = communicator_of(group, rank, ranks);
  const bool has_mask = needs_mask(added, activation);
  if (c10::multiply_integers(sizes) == 0 && !processes) {
    if (num_batches_tracked) at::Tensor(*num_batches_tracked).add_(1);
    return empty_outputs(x, plan->sizes, keep, lean, has_mask).tuple();
  }
  auto [moments, sample] =
      steps.moments(x, plan->points_on(x[0].device()), plan->rows, plan->counts, keep && lean ? plan->sizes.room : 0);
  if (processes) moments = pooled_moments(*processes, group, *plan, sizes, spec, moments);
  const at::Tensor statistics = steps.statistics(moments, plan->weights, gamma, beta, eps, running_mean, running_var,
                                                 num_batches_tracked, momentum, first_is_batch);
  for (const OptionalTensor& moved : {running_mean, running_var, num_batches_tracked})
    if (moved && !moved->is_inference()) moved->unsafeGetTensorImpl()->bump_version();
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
                      processes.get(), group)
      .tuple();
}

template SAMPLENORM_FORWARD(driver::forward<registered_steps>);
template SAMPLENORM_BACKWARD(driver::backward<registered_steps>);
template SAMPLENORM_FORWARD(driver::forward<aten_steps>);
template SAMPLENORM_BACKWARD(driver::backward<aten_steps>);

Gradients differentiable_gradients(const at::Tensor& dy, at::TensorList x, const OptionalTensor& weight,
                                   const OptionalTensor& bias, const at::Tensor& mask, const Plan& plan, double eps,
                                   std::string_view activation) {
  const auto [moments, sample] =
      aten_steps.moments(x, plan.points_on(x[0].device()), plan.rows, plan.counts, /*room=*/0);
  const at::Tensor statistics =
      aten_steps.statistics(moments, plan.weights, weight, bias, eps, {}, {}, {}, {}, /*first_is_batch=*/false);
  return gradients_by(aten_steps, dy, x, mask_of(mask), statistics, statistics, sample, plan, activation,
                      /*lean=*/false, /*want_dx=*/true, nullptr, {});
}

}  // namespace samplenorm
