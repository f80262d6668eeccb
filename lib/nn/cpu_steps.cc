// The steps on the CPU, by the kernels.

#include <ATen/ATen.h>

#include <cmath>
#include <type_traits>

#include "core/moments.h"
#include "kernels/kernels.h"
#include "kernels/types.h"
#include "nn/activation.h"
#include "nn/checks.h"
#include "nn/inputs.h"
#include "nn/scratch.h"
#include "nn/steps.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace cpu {
namespace {

// Purposes of scratch memory.
struct ForSums;
struct ForOffsets;

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

template <class T>
const T* constant(const at::Tensor& tensor) {
  return static_cast<const T*>(tensor.const_data_ptr());
}
template <class T>
T* writable(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.mutable_data_ptr());
}

int64_t sums_for(const Inputs& inputs) {
  int64_t most = 0;
  if (inputs.whole().rows == 0) return most;
  for (const Inputs::Part& part : inputs.parts()) most = std::max(most, kernels::workspace_size(part.layout));
  return most;
}

/// A part's rows of chunk k, in the part and in the whole.
struct Place {
  int64_t rows;
  Layout in, out;
  int64_t in_part, in_whole;  ///< elements before them

  Place(const Inputs& inputs, const Inputs::Part& part, at::IntArrayRef bounds, size_t k)
      : rows(bounds[k + 1] - bounds[k]),
        in(part.layout.with_rows(rows)),
        out(inputs.within_whole(part).with_rows(rows)),
        in_part(bounds[k] * part.layout.row_stride),
        in_whole(bounds[k] * inputs.whole().row_stride + part.first_channel * inputs.whole().channel_stride) {}
};

/// The points of a group, which begin at `first` in the list.
Points points_of(const at::Tensor& points, int64_t first, int64_t count, int64_t chunk_begin) {
  if (points.numel() == 0) return {nullptr, chunk_begin, count};
  return {points.const_data_ptr<int64_t>() + first, 0, count};
}

/// Where a part's channels of a group's points are in the copy of the sample.
template <class T>
SampleCopy<T> copy_of(T* data, const at::Tensor& sample, int64_t first, const Inputs::Part& part) {
  const int64_t point_stride = sample.stride(0), channel_stride = sample.stride(1);
  return {data + first * point_stride + part.first_channel * channel_stride, point_stride, channel_stride};
}

template <class T>
void find_moments(const Inputs& inputs, const at::Tensor& points, at::IntArrayRef rows, at::IntArrayRef counts,
                  const at::Tensor& moments, const at::Tensor& sample) {
  using C = Compute<T>;
  const int64_t channels = inputs.whole().channels, sums = sums_for(inputs);
  const size_t groups = counts.size() / (rows.size() - 1);
  Scratch<double, ForSums> scratch(sums + 2 * channels);
  Scratch<int64_t, ForOffsets> offsets(points.numel() == 0 ? 0 : *std::ranges::max_element(counts));
  const kernels::Workspace workspace{scratch.take(sums), offsets.all()};
  const std::span<double> mean = scratch.take(channels), m2 = scratch.take(channels);
  C* to = writable<C>(moments);
  T* copies = sample.size(0) > 0 ? writable<T>(sample) : nullptr;
  int64_t first = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto group = points_of(points, first, counts[i], rows[i / groups] * inputs.whole().points());
    if (counts[i] == 0) {
      std::ranges::fill(mean, 0);
      std::ranges::fill(m2, 0);
    } else {
      for (const Inputs::Part& part : inputs.parts()) {
        const auto begin = static_cast<size_t>(part.first_channel), count = static_cast<size_t>(part.layout.channels);
        Moments found{0, mean.subspan(begin, count), m2.subspan(begin, count)};
        kernels::moments(part.layout, constant<T>(part.tensor), group, found,
                         copies ? copy_of(copies, sample, first, part) : SampleCopy<T>{}, workspace);
      }
    }
    for (const std::span<double> values : {mean, m2})
      for (const double value : values) *to++ = static_cast<C>(value);
    first += counts[i];
  }
  // So that equal arguments give equal results.
  if (first < sample.size(0)) sample.narrow(0, first, sample.size(0) - first).zero_();
}

std::tuple<at::Tensor, at::Tensor> moments(at::TensorList x, const at::Tensor& points, at::IntArrayRef rows,
                                           at::IntArrayRef counts, int64_t room) {
  auto out = meta_steps.moments(x, points, rows, counts, room);
  const Inputs inputs(x, whole_sizes(x), lies_channels_last(x[0]));
  with_type(x[0].scalar_type(), [&]<class T>(std::type_identity<T>) {
    find_moments<T>(inputs, points, rows, counts, std::get<0>(out), std::get<1>(out));
  });
  return out;
}

/// Weight or bias in the type of statistics.
template <class C>
class Parameter {
 public:
  Parameter(const OptionalTensor& tensor, C otherwise)
      : tensor_(tensor ? tensor->to(c10::CppTypeToScalarType<C>::value).contiguous() : at::Tensor()),
        values_(tensor ? tensor_.template const_data_ptr<C>() : nullptr),
        otherwise_(otherwise) {}
  C operator[](size_t c) const { return values_ ? values_[c] : otherwise_; }

 private:
  at::Tensor tensor_;
  const C* values_;
  C otherwise_;
};

/// The lines of one chunk.
template <class C>
void fill_statistics(std::span<WeightedMoments> groups, Statistics found, const Parameter<C>& weight,
                     const Parameter<C>& bias, double eps, C* lines) {
  combine(groups, found);
  const size_t channels = found.mean.size();
  const auto line = [&](StatisticsLine which) { return lines + static_cast<size_t>(which) * channels; };
  C *mean = line(kMean), *rstd = line(kRstd), *var = line(kUnbiasedVar), *scale = line(kScale), *shift = line(kShift);
  for (size_t c = 0; c < channels; ++c) {
    mean[c] = static_cast<C>(found.mean[c]);
    rstd[c] = static_cast<C>(1 / std::sqrt(found.var[c] + eps));
    var[c] = static_cast<C>(found.unbiased_var[c]);
    scale[c] = rstd[c] * weight[c];
    shift[c] = bias[c] - mean[c] * scale[c];
  }
  C* group_mean = line(kGroupMeans);
  for (const WeightedMoments& group : groups)
    for (const double value : group.moments.mean) *group_mean++ = static_cast<C>(value);
}

at::Tensor statistics(const at::Tensor& moments, const at::Tensor& counts, at::ArrayRef<double> weights,
                      const OptionalTensor& weight, const OptionalTensor& bias, double eps) {
  const at::Tensor out = meta_steps.statistics(moments, counts, weights, weight, bias, eps);
  const int64_t chunks = moments.size(0), channels = moments.size(3), *points = counts.const_data_ptr<int64_t>();
  const auto groups = static_cast<int64_t>(weights.size());
  const at::Tensor dense = moments.contiguous();
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "samplenorm::statistics", [&] {
    Scratch<double, ForSums> scratch((2 * groups + 3) * channels);
    const Statistics found{scratch.take(channels), scratch.take(channels), scratch.take(channels)};
    c10::SmallVector<WeightedMoments, 2> weighted;
    for (const double share : weights)
      weighted.push_back({share, {0, scratch.take(channels), scratch.take(channels)}});
    const Parameter<scalar_t> gamma(weight, 1), beta(bias, 0);
    const scalar_t* from = dense.const_data_ptr<scalar_t>();
    scalar_t* to = out.mutable_data_ptr<scalar_t>();
    for (int64_t k = 0; k < chunks; ++k, to += out.stride(0)) {
      for (auto& [share, group] : weighted) {
        group.count = static_cast<double>(*points++);
        for (const std::span<double> values : {group.mean, group.m2})
          for (double& value : values) value = static_cast<double>(*from++);
      }
      fill_statistics<scalar_t>(weighted, found, gamma, beta, eps, to);
    }
  });
  return out;
}

template <class T>
void normalize(const Inputs& inputs, const OptionalTensor& residual, const at::Tensor& statistics, at::IntArrayRef rows,
               const Activation& activation, const at::Tensor& y, const at::Tensor& mask) {
  using C = Compute<T>;
  const Layout& whole = inputs.whole();
  const at::Tensor added = residual ? inputs.dense_like_whole(*residual) : at::Tensor();
  const T* residuals = residual ? constant<T>(added) : nullptr;
  uint8_t* bits = mask.numel() > 0 ? writable<uint8_t>(mask) : nullptr;
  T* to = writable<T>(y);
  const C* lines = constant<C>(statistics);
  for (size_t k = 0; k + 1 < rows.size(); ++k, lines += statistics.stride(0))
    for (const Inputs::Part& part : inputs.parts()) {
      const Place place(inputs, part, rows, k);
      if (place.rows == 0) continue;
      const C* of_part = lines + part.first_channel;
      kernels::apply(place.in, place.out,
                     Apply<T>{.x = constant<T>(part.tensor) + place.in_part,
                              .residual = residuals ? residuals + place.in_whole : nullptr,
                              .scale = of_part + kScale * whole.channels,
                              .shift = of_part + kShift * whole.channels,
                              .activation = &activation,
                              .y = to + place.in_whole,
                              .mask = bits ? bits + rows[k] * mask_row_bytes(whole) : nullptr});
    }
}

std::tuple<at::Tensor, at::Tensor> apply(at::TensorList x, const OptionalTensor& residual, const at::Tensor& statistics,
                                         at::IntArrayRef rows, std::string_view activation, bool keep_mask) {
  auto out = meta_steps.apply(x, residual, statistics, rows, activation, keep_mask);
  const Inputs inputs(x, whole_sizes(x), lies_channels_last(x[0]));
  with_type(x[0].scalar_type(), [&]<class T>(std::type_identity<T>) {
    normalize<T>(inputs, residual, statistics.contiguous(), rows, activation_of(activation), std::get<0>(out),
                 std::get<1>(out));
  });
  return out;
}

/// What the kernels of one pass take that does not depend on the chunk.
template <class T>
struct Pass {
  const Activation& activation;
  bool lean;
  const T* dy;
  const uint8_t* mask;
  std::vector<T*> dx;  ///< of each input; empty: not asked for
  T* dresidual;
};

template <class T>
void differentiate(const Inputs& inputs, const Pass<T>& pass, const at::Tensor& statistics, const at::Tensor& correction,
                   at::IntArrayRef rows, const at::Tensor& sums) {
  using C = Compute<T>;
  const Layout& whole = inputs.whole();
  const int64_t channels = whole.channels, sums_size = sums_for(inputs);
  Scratch<double, ForSums> scratch(sums_size + 2 * channels);
  const kernels::Workspace workspace{scratch.take(sums_size), {}};
  const std::span<double> sum_dy = scratch.take(channels), sum_dy_x = scratch.take(channels);
  const C* lines = constant<C>(statistics);
  const C* corrections = correction.defined() ? constant<C>(correction) : nullptr;
  C* to = corrections ? nullptr : writable<C>(sums);
  for (size_t k = 0; k + 1 < rows.size(); ++k, lines += statistics.stride(0)) {
    std::ranges::fill(sum_dy, 0);
    std::ranges::fill(sum_dy_x, 0);
    for (const Inputs::Part& part : inputs.parts()) {
      const Place place(inputs, part, rows, k);
      if (place.rows == 0) continue;
      const int64_t c = part.first_channel;
      Backward<T> args{.dy = pass.dy + place.in_whole,
                       .x = constant<T>(part.tensor) + place.in_part,
                       .centre = lines + kMean * channels + c,
                       .scale = lines + kScale * channels + c,
                       .activation = &pass.activation,
                       .shift = pass.lean ? nullptr : lines + kShift * channels + c,
                       .mask = pass.mask ? pass.mask + rows[k] * mask_row_bytes(whole) : nullptr,
                       .sum_dy = {},
                       .sum_dy_x = {}};
      if (!pass.dx.empty()) args.dx = pass.dx[part.index] + place.in_part;
      if (pass.dresidual) args.dresidual = pass.dresidual + place.in_whole;
      if (corrections) {
        args.offset = corrections + c;
        args.slope = corrections + channels + c;
      } else {
        const auto begin = static_cast<size_t>(c), count = static_cast<size_t>(part.layout.channels);
        args.sum_dy = sum_dy.subspan(begin, count);
        args.sum_dy_x = sum_dy_x.subspan(begin, count);
      }
      kernels::backward(place.in, place.out, args, workspace);
    }
    if (corrections) {
      corrections += 2 * channels;
      continue;
    }
    const C* rstd = lines + kRstd * channels;
    for (size_t c = 0; c < sum_dy.size(); ++c) {
      to[c] = static_cast<C>(sum_dy[c]);
      to[sum_dy.size() + c] = static_cast<C>(sum_dy_x[c] * static_cast<double>(rstd[c]));
    }
    to += 2 * channels;
  }
}

std::tuple<std::vector<at::Tensor>, at::Tensor, at::Tensor> backward(
    const at::Tensor& dy, at::TensorList x, const OptionalTensor& mask, const at::Tensor& statistics,
    const OptionalTensor& correction, at::IntArrayRef rows, std::string_view activation, bool lean, bool want_dx) {
  auto out = meta_steps.backward(dy, x, mask, statistics, correction, rows, activation, lean, want_dx);
  const auto& [dx, sums, dresidual] = out;
  const DimVector sizes = whole_sizes(x);
  const Inputs inputs(x, sizes, backward_is_channels_last(x[0], sizes, mask ? &*mask : nullptr));
  const at::Tensor gradient = inputs.dense_like_whole(dy);
  const at::Tensor bits = mask ? bytes_of_mask(*mask, inputs.whole()) : at::Tensor();
  with_type(x[0].scalar_type(), [&]<class T>(std::type_identity<T>) {
    Pass<T> pass{activation_of(activation), lean, constant<T>(gradient), mask ? constant<uint8_t>(bits) : nullptr, {},
                 dresidual.numel() > 0 ? writable<T>(dresidual) : nullptr};
    for (const at::Tensor& each : dx) pass.dx.push_back(writable<T>(each));
    differentiate<T>(inputs, pass, statistics.contiguous(), correction ? correction->contiguous() : at::Tensor(), rows,
                     sums);
  });
  return out;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> gradients(const at::Tensor& sums, const at::Tensor& pooled_sums,
                                                         const at::Tensor& statistics, const at::Tensor& counts,
                                                         at::ArrayRef<double> weights) {
  auto out = meta_steps.gradients(sums, pooled_sums, statistics, counts, weights);
  const auto& [dweight, dbias, correction] = out;
  const int64_t chunks = sums.size(0), channels = sums.size(2), *points = counts.const_data_ptr<int64_t>();
  const at::Tensor own = sums.contiguous(), pooled = pooled_sums.contiguous(), lines = statistics.contiguous();
  AT_DISPATCH_FLOATING_TYPES(sums.scalar_type(), "samplenorm::gradients", [&] {
    Scratch<double, ForSums> scratch(2 * channels);
    const std::span<double> all = scratch.take(2 * channels);  // D, then P
    std::ranges::fill(all, 0);
    const scalar_t* from = own.const_data_ptr<scalar_t>();
    for (int64_t k = 0; k < chunks; ++k)
      for (double& sum : all) sum += static_cast<double>(*from++);
    scalar_t *to_weight = dweight.mutable_data_ptr<scalar_t>(), *to_bias = dbias.mutable_data_ptr<scalar_t>();
    for (int64_t c = 0; c < channels; ++c) {
      to_bias[c] = static_cast<scalar_t>(all[static_cast<size_t>(c)]);
      to_weight[c] = static_cast<scalar_t>(all[static_cast<size_t>(channels + c)]);
    }
    scalar_t* offset = correction.mutable_data_ptr<scalar_t>();
    for (int64_t k = 0; k < chunks; ++k) {
      const scalar_t* line = lines.const_data_ptr<scalar_t>() + k * lines.stride(0);
      const scalar_t *rstd = line + kRstd * channels, *scale = line + kScale * channels;
      const scalar_t *sum_dy = pooled.const_data_ptr<scalar_t>() + k * 2 * channels, *sum_dy_xhat = sum_dy + channels;
      for (const double weight : weights) {
        const double share = weight / static_cast<double>(*points++);
        scalar_t* slope = offset + channels;
        for (int64_t c = 0; c < channels; ++c) {
          const double scaled = share * static_cast<double>(scale[c]);
          offset[c] = static_cast<scalar_t>(scaled * static_cast<double>(sum_dy[c]));
          slope[c] = static_cast<scalar_t>(scaled * static_cast<double>(rstd[c]) * static_cast<double>(sum_dy_xhat[c]));
        }
        offset += 2 * channels;
      }
    }
  });
  return out;
}

template <class T>
void take_off(const Inputs& dx, const at::Tensor& sample, const at::Tensor& statistics, const at::Tensor& correction,
              const at::Tensor& points, at::IntArrayRef rows, at::IntArrayRef counts) {
  using C = Compute<T>;
  const int64_t channels = dx.whole().channels;
  const size_t groups = counts.size() / (rows.size() - 1);
  Scratch<int64_t, ForOffsets> offsets(*std::ranges::max_element(counts));
  const C* offset = constant<C>(correction);
  const T* copies = constant<T>(sample);
  int64_t first = 0;
  for (size_t i = 0; i < counts.size(); first += counts[i], offset += 2 * channels, ++i) {
    if (counts[i] == 0) continue;
    const C* line = constant<C>(statistics) + static_cast<int64_t>(i / groups) * statistics.stride(0);
    const C* group_mean = line + (kGroupMeans + static_cast<int64_t>(i % groups)) * channels;
    for (const Inputs::Part& part : dx.parts()) {
      const int64_t c = part.first_channel;
      kernels::correct(part.layout, points_of(points, first, counts[i], 0),
                       Correct<T>{.sample = copy_of(copies, sample, first, part),
                                  .group_mean = group_mean + c,
                                  .offset = offset + c,
                                  .slope = offset + channels + c,
                                  .dx = writable<T>(part.tensor)},
                       kernels::Workspace{{}, offsets.all()});
    }
  }
}

void correct(at::TensorList dx, const at::Tensor& sample, const at::Tensor& statistics, const at::Tensor& correction,
             const at::Tensor& points, at::IntArrayRef rows, at::IntArrayRef counts) {
  const Inputs inputs(dx, whole_sizes(dx), lies_channels_last(dx[0]));
  const at::Tensor copy = is_channels_last(inputs.whole()) ? sample.contiguous() : sample.t().contiguous().t();
  with_type(dx[0].scalar_type(), [&]<class T>(std::type_identity<T>) {
    take_off<T>(inputs, copy, statistics.contiguous(), correction.contiguous(), points, rows, counts);
  });
}

}  // namespace
}  // namespace cpu

const Steps cpu_steps = {cpu::moments, cpu::statistics, cpu::apply, cpu::backward, cpu::gradients, cpu::correct};

}  // namespace samplenorm
