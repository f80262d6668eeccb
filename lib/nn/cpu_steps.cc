// The steps on the CPU, by the kernels. Each begins with the results of the step on meta tensors, and fills them.

#include <ATen/ATen.h>

#include <cmath>
#include <span>
#include <type_traits>

#include "core/moments.h"
#include "kernels/kernels.h"
#include "kernels/types.h"
#include "nn/activation.h"
#include "nn/checks.h"
#include "nn/steps.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace cpu {
namespace {

using at::IntArrayRef;
using at::Tensor;
using at::TensorList;

/// Memory to work in that stays with its thread from call to call, since a layer's needs hardly change. No two objects
/// of one T may live at once.
template <class T>
class Scratch {
 public:
  /// Room for all that will be taken.
  explicit Scratch(int64_t count) {
    thread_local std::vector<T> kept;
    if (std::ssize(kept) < count) kept.resize(static_cast<size_t>(count));
    free_ = kept;
  }

  std::span<T> take(int64_t count) {
    const std::span<T> taken = free_.first(static_cast<size_t>(count));
    free_ = free_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<T> free_;
};

/// Calls work(std::type_identity<T>) with the kernels' type for torch's.
template <class Work>
void with_type(at::ScalarType type, Work work) {
  switch (type) {
#define CASE(T, name)        \
  case at::ScalarType::name: \
    return work(std::type_identity<T>{});
    SAMPLENORM_FOR_EACH_TYPE(CASE)
#undef CASE
    default:
      TORCH_CHECK(false, "samplenorm: no kernels for activations of ", type);
  }
}

// The values of a tensor; null where it is undefined or empty.
template <class T>
const T* constant(const Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}
template <class T>
T* writable(const Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
}
/// The place so many elements further on; null of null.
template <class T>
T* after(T* values, int64_t count) {
  return values ? values + count : nullptr;
}

int64_t sums_for(const Inputs& inputs) {
  int64_t most = 0;
  if (inputs.whole.rows == 0) return most;
  for (const Inputs::Part& part : inputs.parts) most = std::max(most, kernels::workspace_size(part.layout));
  return most;
}

/// A part's channels of values that are kept for all channels.
std::span<double> of_part(std::span<double> values, const Inputs::Part& part) {
  return values.subspan(static_cast<size_t>(part.first_channel), static_cast<size_t>(part.layout.channels));
}

/// A part's rows of chunk k, in the part and in the whole.
struct Place {
  int64_t rows;
  Layout in, out;
  int64_t in_part, in_whole;  ///< elements before them

  Place(const Inputs& inputs, const Inputs::Part& part, IntArrayRef bounds, size_t k)
      : rows(bounds[k + 1] - bounds[k]),
        in(part.layout.with_rows(rows)),
        out(inputs.whole.with_rows(rows)),
        in_part(bounds[k] * part.layout.row_stride),
        in_whole(bounds[k] * inputs.whole.row_stride + part.first_channel * inputs.whole.channel_stride) {
    out.channels = part.layout.channels;
  }
};

/// The points of a group, which begin at `first` in the list.
Points points_of(const Tensor& points, int64_t first, int64_t count, int64_t chunk_begin) {
  if (points.numel() == 0) return {nullptr, chunk_begin, count};
  return {points.const_data_ptr<int64_t>() + first, 0, count};
}

/// Where a part's channels of a group's points are in the copy of the sample.
template <class T>
SampleCopy<T> copy_of(T* data, const Tensor& sample, int64_t first, const Inputs::Part& part) {
  const int64_t point_stride = sample.stride(0), channel_stride = sample.stride(1);
  return {after(data, first * point_stride + part.first_channel * channel_stride), point_stride, channel_stride};
}

std::tuple<Tensor, Tensor> moments(TensorList x, const Tensor& points, IntArrayRef rows, IntArrayRef counts,
                                   int64_t room) {
  auto out = meta_steps.moments(x, points, rows, counts, room);
  const auto& [found, sample] = out;
  const Inputs inputs(x, lies_channels_last(x[0]));
  const int64_t channels = inputs.whole.channels, sums = sums_for(inputs);
  const size_t groups = counts.size() / (rows.size() - 1);
  Scratch<double> scratch(sums + 2 * channels);
  const int64_t offsets = points.numel() == 0 ? 0 : *std::ranges::max_element(counts);
  const kernels::Workspace workspace{scratch.take(sums), Scratch<int64_t>(offsets).take(offsets)};
  const std::span<double> mean = scratch.take(channels), m2 = scratch.take(channels);
  int64_t first = 0;
  with_type(x[0].scalar_type(), [&]<class T>(std::type_identity<T>) {
    auto* to = writable<Compute<T>>(found);
    for (size_t i = 0; i < counts.size(); first += counts[i], ++i) {
      const Points group = points_of(points, first, counts[i], rows[i / groups] * inputs.whole.points());
      std::ranges::fill(mean, 0);
      std::ranges::fill(m2, 0);
      for (const Inputs::Part& part : inputs.parts) {
        if (counts[i] == 0) break;
        Moments of_channels{0, of_part(mean, part), of_part(m2, part)};
        kernels::moments(part.layout, constant<T>(part.tensor), group, of_channels,
                         copy_of(writable<T>(sample), sample, first, part), workspace);
      }
      const auto count = static_cast<double>(std::max<int64_t>(counts[i], 1));
      to = std::fill_n(to, channels, static_cast<Compute<T>>(counts[i]));
      for (const double value : mean) *to++ = static_cast<Compute<T>>(value);
      for (const double value : m2) *to++ = static_cast<Compute<T>>(std::sqrt(value / count));
    }
  });
  // So that equal arguments give equal results.
  if (first < sample.size(0)) sample.narrow(0, first, sample.size(0) - first).zero_();
  return out;
}

/// The moments of one group, whose blocks begin at `from` and lie `block_stride` apart.
template <class T>
void merge_blocks(const T* from, int64_t blocks, int64_t block_stride, Moments block, Moments& group) {
  const auto read = [](const T* lines, Moments& into) {
    const size_t channels = into.mean.size();
    into.count = static_cast<double>(*lines);
    for (size_t c = 0; c < channels; ++c) {
      const auto deviation = static_cast<double>(lines[2 * channels + c]);
      into.mean[c] = static_cast<double>(lines[channels + c]);
      into.m2[c] = into.count * deviation * deviation;
    }
  };
  read(from, group);
  for (int64_t b = 1; b < blocks; ++b) {
    read(from + b * block_stride, block);
    merge(group, block);
  }
}

Tensor statistics(const Tensor& moments, at::ArrayRef<double> weights, const OptionalTensor& weight,
                  const OptionalTensor& bias, double eps, const OptionalTensor& running_mean,
                  const OptionalTensor& running_var, const OptionalTensor& num_batches_tracked,
                  std::optional<double> momentum, bool first_is_batch) {
  const Tensor out = meta_steps.statistics(moments, weights, weight, bias, eps, {}, {}, {}, {}, false);
  const Tensor dense = moments.contiguous();
  const auto groups = static_cast<int64_t>(weights.size());
  const int64_t blocks = moments.size(0), chunks = moments.size(1), channels = moments.size(4);
  const auto parameter = [&](const OptionalTensor& tensor, double otherwise) {
    return tensor ? tensor->to(out.scalar_type()).contiguous() : at::full({channels}, otherwise, out.options());
  };
  const Tensor gammas = parameter(weight, 1), betas = parameter(bias, 0);
  Scratch<double> scratch((2 * groups + 5) * channels);
  const Statistics found{scratch.take(channels), scratch.take(channels), scratch.take(channels)};
  const Moments block{0, scratch.take(channels), scratch.take(channels)};
  c10::SmallVector<WeightedMoments, 2> weighted;
  for (const double share : weights) weighted.push_back({share, {0, scratch.take(channels), scratch.take(channels)}});
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "samplenorm::statistics", [&] {
    const auto *gamma = constant<scalar_t>(gammas), *beta = constant<scalar_t>(betas);
    const auto* from = constant<scalar_t>(dense);
    auto* to = writable<scalar_t>(out);
    for (int64_t k = 0; k < chunks; ++k) {
      for (auto& [share, group] : weighted) {
        merge_blocks(from, blocks, dense.stride(0), block, group);
        from += 3 * channels;
      }
      combine(weighted, found);
      scalar_t *mean = to, *rstd = to + kRstd * channels, *var = to + kUnbiasedVar * channels;
      scalar_t *scale = to + kScale * channels, *shift = to + kShift * channels;
      for (size_t c = 0; c < found.mean.size(); ++c) {
        mean[c] = static_cast<scalar_t>(found.mean[c]);
        rstd[c] = static_cast<scalar_t>(1 / std::sqrt(found.var[c] + eps));
        var[c] = static_cast<scalar_t>(found.unbiased_var[c]);
        scale[c] = rstd[c] * gamma[c];
        shift[c] = beta[c] - mean[c] * scale[c];
      }
      to += kGroupMeans * channels;
      for (const WeightedMoments& group : weighted)
        for (const double value : group.moments.mean) *to++ = static_cast<scalar_t>(value);
      for (const WeightedMoments& group : weighted)
        to = std::fill_n(to, channels, static_cast<scalar_t>(group.moments.count));
    }
  });
  if (running_mean)
    move_running_statistics({running_mean, running_var, num_batches_tracked, momentum, first_is_batch},
                            out.select(1, kMean), out.select(1, kUnbiasedVar));
  return out;
}

std::tuple<Tensor, Tensor> apply(TensorList x, const OptionalTensor& residual, const Tensor& statistics,
                                 IntArrayRef rows, std::string_view activation, bool keep_mask) {
  auto out = meta_steps.apply(x, residual, statistics, rows, activation, keep_mask);
  const auto& [y, mask] = out;
  const bool channels_last = lies_channels_last(x[0]);
  const Inputs inputs(x, channels_last);
  const int64_t channels = inputs.whole.channels;
  const Tensor added = residual ? in_format(*residual, channels_last) : Tensor(), all_lines = statistics.contiguous();
  const Activation& function = activation_of(activation);
  auto* bits = writable<uint8_t>(mask);
  with_type(x[0].scalar_type(), [&]<class T>(std::type_identity<T>) {
    const auto* lines = constant<Compute<T>>(all_lines);
    const T* residuals = constant<T>(added);
    T* to = writable<T>(y);
    for (size_t k = 0; k + 1 < rows.size(); ++k, lines = after(lines, all_lines.stride(0)))
      for (const Inputs::Part& part : inputs.parts) {
        const Place place(inputs, part, rows, k);
        if (place.rows == 0) continue;
        kernels::apply(place.in, place.out,
                       Apply<T>{.x = constant<T>(part.tensor) + place.in_part,
                                .residual = after(residuals, place.in_whole),
                                .scale = lines + kScale * channels + part.first_channel,
                                .shift = lines + kShift * channels + part.first_channel,
                                .activation = &function,
                                .y = to + place.in_whole,
                                .mask = after(bits, rows[k] * mask_row_bytes(inputs.whole))});
      }
  });
  return out;
}

std::tuple<std::vector<Tensor>, Tensor, Tensor> backward(const Tensor& dy, TensorList x, const OptionalTensor& mask,
                                                         const Tensor& statistics, const OptionalTensor& correction,
                                                         IntArrayRef rows, std::string_view activation, bool lean,
                                                         bool want_dx) {
  auto out = meta_steps.backward(dy, x, mask, statistics, correction, rows, activation, lean, want_dx);
  const auto& [dx, sums, dresidual] = out;
  const bool channels_last = backward_is_channels_last(x, mask);
  const Inputs inputs(x, channels_last);
  const int64_t channels = inputs.whole.channels, workspace_size = sums_for(inputs);
  const Tensor gradient = in_format(dy, channels_last), all_lines = statistics.contiguous();
  const Tensor bytes = mask ? bytes_of_mask(*mask, inputs.whole) : Tensor();
  const Tensor coefficients = correction ? correction->contiguous() : Tensor();
  const Activation& function = activation_of(activation);
  const auto* bits = constant<uint8_t>(bytes);
  Scratch<double> scratch(workspace_size + 2 * channels);
  const kernels::Workspace workspace{scratch.take(workspace_size), {}};
  const std::span<double> sum_dy = scratch.take(channels), sum_dy_x = scratch.take(channels);
  with_type(x[0].scalar_type(), [&]<class T>(std::type_identity<T>) {
    using C = Compute<T>;
    const T* from = constant<T>(gradient);
    T* to_residual = writable<T>(dresidual);
    const C *lines = constant<C>(all_lines), *offset = constant<C>(coefficients);
    C* to = writable<C>(sums);
    for (size_t k = 0; k + 1 < rows.size(); ++k) {
      std::ranges::fill(sum_dy, 0);
      std::ranges::fill(sum_dy_x, 0);
      for (const Inputs::Part& part : inputs.parts) {
        const Place place(inputs, part, rows, k);
        if (place.rows == 0) continue;
        const int64_t c = part.first_channel;
        kernels::backward(place.in, place.out,
                          Backward<T>{.dy = from + place.in_whole,
                                      .x = constant<T>(part.tensor) + place.in_part,
                                      .centre = lines + kMean * channels + c,
                                      .scale = lines + kScale * channels + c,
                                      .activation = &function,
                                      .shift = lean ? nullptr : lines + kShift * channels + c,
                                      .mask = after(bits, rows[k] * mask_row_bytes(inputs.whole)),
                                      .offset = after(offset, c),
                                      .slope = after(offset, channels + c),
                                      .dx = dx.empty() ? nullptr : writable<T>(dx[part.index]) + place.in_part,
                                      .dresidual = after(to_residual, place.in_whole),
                                      .sum_dy = offset ? std::span<double>() : of_part(sum_dy, part),
                                      .sum_dy_x = offset ? std::span<double>() : of_part(sum_dy_x, part)},
                          workspace);
      }
      const C* rstd = lines + kRstd * channels;
      for (size_t c = 0; to && c < sum_dy.size(); ++c) {
        to[c] = static_cast<C>(sum_dy[c]);
        to[sum_dy.size() + c] = static_cast<C>(sum_dy_x[c] * static_cast<double>(rstd[c]));
      }
      lines = after(lines, all_lines.stride(0));
      offset = after(offset, 2 * channels);
      to = after(to, 2 * channels);
    }
  });
  return out;
}

std::tuple<Tensor, Tensor, Tensor> gradients(const Tensor& sums, const Tensor& pooled_sums, const Tensor& statistics,
                                             at::ArrayRef<double> weights) {
  auto out = meta_steps.gradients(sums, pooled_sums, statistics, weights);
  const auto& [dweight, dbias, correction] = out;
  const int64_t chunks = statistics.size(0), channels = statistics.size(2), groups = std::ssize(weights);
  const auto one_block = [](const Tensor& blocks) {
    return (blocks.size(0) == 1 ? blocks : blocks.sum(0)).contiguous();
  };
  const Tensor own = one_block(sums), pooled = one_block(pooled_sums), lines = statistics.contiguous();
  AT_DISPATCH_FLOATING_TYPES(sums.scalar_type(), "samplenorm::gradients", [&] {
    const auto number = [](scalar_t value) { return static_cast<double>(value); };
    const auto *from = constant<scalar_t>(own), *line = constant<scalar_t>(lines), *sum_dy = constant<scalar_t>(pooled);
    auto *to_weight = writable<scalar_t>(dweight), *to_bias = writable<scalar_t>(dbias);
    for (int64_t c = 0; c < channels; ++c) {
      double d = 0, p = 0;  // sum dy, sum dy xhat
      for (int64_t k = 0; k < chunks; ++k) {
        d += number(from[2 * k * channels + c]);
        p += number(from[(2 * k + 1) * channels + c]);
      }
      to_bias[c] = static_cast<scalar_t>(d);
      to_weight[c] = static_cast<scalar_t>(p);
    }
    scalar_t* offset = writable<scalar_t>(correction);
    for (int64_t k = 0; k < chunks; ++k, line = after(line, lines.stride(0)), sum_dy += 2 * channels)
      for (int64_t g = 0; g < groups; ++g) {
        const double share = weights[static_cast<size_t>(g)] / number(line[(kGroupMeans + groups + g) * channels]);
        for (int64_t c = 0; c < channels; ++c) {
          const double scaled = share * number(line[kScale * channels + c]);
          offset[c] = static_cast<scalar_t>(scaled * number(sum_dy[c]));
          offset[channels + c] =
              static_cast<scalar_t>(scaled * number(line[kRstd * channels + c]) * number(sum_dy[channels + c]));
        }
        offset += 2 * channels;
      }
  });
  return out;
}

void correct(TensorList dx, TensorList x, const Tensor& sample, const Tensor& statistics, const Tensor& correction,
             const Tensor& points, IntArrayRef /*rows*/, IntArrayRef counts) {
  const Inputs inputs(dx, lies_channels_last(dx[0]));
  const bool has_copy = sample.size(0) > 0;
  const Inputs read(has_copy ? dx : x, lies_channels_last(dx[0]));
  const Tensor copy = is_channels_last(inputs.whole) ? sample.contiguous() : sample.t().contiguous().t();
  const Tensor lines = statistics.contiguous(), coefficients = correction.contiguous();
  const int64_t channels = inputs.whole.channels, groups = (lines.size(1) - kGroupMeans) / 2;
  const int64_t most = *std::ranges::max_element(counts);
  const kernels::Workspace workspace{{}, Scratch<int64_t>(most).take(most)};
  with_type(dx[0].scalar_type(), [&]<class T>(std::type_identity<T>) {
    const auto* offset = constant<Compute<T>>(coefficients);
    int64_t first = 0;
    for (size_t i = 0; i < counts.size(); first += counts[i], offset += 2 * channels, ++i) {
      if (counts[i] == 0) continue;
      const int64_t k = static_cast<int64_t>(i) / groups, g = static_cast<int64_t>(i) % groups;
      const auto* group_mean = constant<Compute<T>>(lines) + k * lines.stride(0) + (kGroupMeans + g) * channels;
      for (size_t p = 0; p < inputs.parts.size(); ++p) {
        const Inputs::Part& part = inputs.parts[p];
        kernels::correct(part.layout, points_of(points, first, counts[i], 0),
                         Correct<T>{.sample = copy_of(constant<T>(copy), copy, first, part),
                                    .group_mean = group_mean + part.first_channel,
                                    .offset = offset + part.first_channel,
                                    .slope = offset + channels + part.first_channel,
                                    .dx = writable<T>(part.tensor),
                                    .x = has_copy ? nullptr : constant<T>(read.parts[p].tensor)},
                         workspace);
      }
    }
  });
}

}  // namespace
}  // namespace cpu

const Steps cpu_steps = {cpu::moments, cpu::statistics, cpu::apply, cpu::backward, cpu::gradients, cpu::correct};

}  // namespace samplenorm
