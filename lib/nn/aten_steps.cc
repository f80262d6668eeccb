// The steps in ATen calls: the readable definition, what devices without kernels of their own run, and what the second
// derivative differentiates. Tensors are seen as (N, C, S), S points a map.

#include <ATen/ATen.h>

#include "kernels/arguments.h"
#include "nn/activation.h"
#include "nn/checks.h"
#include "nn/steps.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace aten {
namespace {

using at::Tensor;

Tensor as_maps(const Tensor& x) { return x.dim() == 2 ? x.unsqueeze(2) : x.flatten(2); }

/// All inputs in the type of statistics.
Tensor maps_of(at::TensorList x) { return as_maps(x.size() == 1 ? x[0] : at::cat(x, 1)).to(statistics_type(x[0])); }

/// Where points are, as indices of (N, S, C) that give (points, C).
c10::List<OptionalTensor> places_of(const Tensor& points, int64_t map_points) {
  return {at::floor_divide(points, map_points), at::remainder(points, map_points)};
}

/// (points, C).
Tensor values_at(const Tensor& maps, const Tensor& points) {
  return maps.transpose(1, 2).index(places_of(points, maps.size(2)));
}

Tensor rows_of(const Tensor& maps, at::IntArrayRef rows, size_t k) {
  return maps.narrow(0, rows[k], rows[k + 1] - rows[k]);
}

/// A line of the statistics as something that broadcasts over the rows of each chunk.
Tensor line_of(const Tensor& statistics, StatisticsLine line, at::IntArrayRef rows) {
  const Tensor values = statistics.select(1, line).unsqueeze(-1);
  if (values.size(0) == 1) return values;
  std::vector<Tensor> chunks;
  for (int64_t k = 0; k < values.size(0); ++k) {
    const auto chunk = static_cast<size_t>(k);
    chunks.push_back(values.narrow(0, k, 1).expand({rows[chunk + 1] - rows[chunk], -1, -1}));
  }
  return at::cat(chunks);
}

std::tuple<Tensor, Tensor> moments(at::TensorList x, const Tensor& points, at::IntArrayRef rows, at::IntArrayRef counts,
                                   int64_t room) {
  const Tensor maps = maps_of(x);
  const size_t groups = counts.size() / (rows.size() - 1);
  const bool whole = points.numel() == 0;
  const Tensor listed = whole ? Tensor() : values_at(maps, points);
  std::vector<Tensor> found;
  int64_t first = 0;
  for (size_t i = 0; i < counts.size(); first += counts[i], ++i) {
    if (counts[i] == 0) {
      found.push_back(at::zeros({3, maps.size(1)}, maps.options()));
      continue;
    }
    const Tensor values =
        whole ? rows_of(maps, rows, i / groups).transpose(1, 2).flatten(0, 1) : listed.narrow(0, first, counts[i]);
    const Tensor mean = values.mean(0);
    // Not var().sqrt(), which has no derivative at 0.
    const Tensor norm = at::linalg_vector_norm(values - mean, 2, at::IntArrayRef{0});
    const auto count = static_cast<double>(counts[i]);
    found.push_back(at::stack({at::full_like(mean, count), mean, norm / std::sqrt(count)}));
  }
  const Tensor moments =
      at::stack(found).view({1, std::ssize(rows) - 1, static_cast<int64_t>(groups), 3, maps.size(1)});
  const Layout layout = layout_of(whole_sizes(x), lies_channels_last(x[0]));
  if (room == 0 || whole) return {moments, empty_sample(room, layout, x[0].options()).zero_()};
  const Tensor sample = at::constant_pad_nd(listed, {0, 0, 0, room - listed.size(0)}).to(x[0].scalar_type());
  return {moments, empty_sample(room, layout, x[0].options()).copy_(sample)};  // with its strides, of one channel too
}

Tensor statistics(const Tensor& moments, at::ArrayRef<double> weights, const OptionalTensor& weight,
                  const OptionalTensor& bias, double eps, const OptionalTensor& running_mean,
                  const OptionalTensor& running_var, const OptionalTensor& num_batches_tracked,
                  std::optional<double> momentum, bool first_is_batch) {
  const auto type = moments.scalar_type();
  const Tensor merged = one_block(moments).squeeze(0);
  const Tensor count = merged.select(2, 0), group_mean = merged.select(2, 1), group_var = merged.select(2, 2).square();
  Tensor mean, var, unbiased_var;
  const auto add = [](Tensor& sum, const Tensor& more) { sum = sum.defined() ? sum + more : more; };
  for (size_t g = 0; g < weights.size(); ++g) {
    const auto group = static_cast<int64_t>(g);
    const Tensor points = count.select(1, group), var_of_group = group_var.select(1, group);
    add(mean, weights[g] * group_mean.select(1, group));
    add(var, weights[g] * var_of_group);
    add(unbiased_var, weights[g] * (var_of_group * points / (points - 1).clamp_min(1)));
  }
  const Tensor rstd = at::rsqrt(var + eps);
  const Tensor scale = weight ? rstd * weight->to(type) : rstd;
  const Tensor shift = (bias ? bias->to(type) : at::zeros_like(mean)) - mean * scale;
  if (running_mean)
    move_running_statistics({running_mean, running_var, num_batches_tracked, momentum, first_is_batch}, mean,
                            unbiased_var);
  return at::cat({at::stack({mean, rstd, unbiased_var, scale, shift}, 1), group_mean, count}, 1);
}

/// The bits of (N, C, S) as a mask.
Tensor packed(const Tensor& bits, const Layout& layout) {
  const bool by_point = is_channels_last(layout);
  const Tensor runs = (by_point ? bits.transpose(1, 2) : bits).to(at::kByte);
  const Tensor padded = at::constant_pad_nd(runs, {0, (8 - runs.size(2) % 8) % 8});
  const Tensor bytes = at::bitwise_left_shift(padded.view({runs.size(0), runs.size(1), padded.size(2) / 8, 8}),
                                              at::arange(8, padded.options()))
                           .sum(-1, false, at::kByte);
  return by_point ? bytes.transpose(1, 2) : bytes;
}

Tensor unpacked(const Tensor& mask, const Layout& layout) {
  const Tensor bytes = bytes_of_mask(mask, layout);
  const Tensor bits = at::bitwise_right_shift(bytes.unsqueeze(-1), at::arange(8, bytes.options())).bitwise_and(1);
  const Tensor runs = bits.flatten(2).narrow(2, 0, run_elements(layout)).to(at::kBool);
  return is_channels_last(layout) ? runs.transpose(1, 2) : runs;
}

std::tuple<Tensor, Tensor> apply(at::TensorList x, const OptionalTensor& residual, const Tensor& statistics,
                                 at::IntArrayRef rows, std::string_view activation, bool keep_mask) {
  const DimVector sizes = whole_sizes(x);
  const bool channels_last = lies_channels_last(x[0]);
  Tensor z = maps_of(x) * line_of(statistics, kScale, rows) + line_of(statistics, kShift, rows);
  if (residual) z = z + as_maps(*residual);
  const Tensor mask = keep_mask ? packed(derivative_at(z, activation).eq(1), layout_of(sizes, channels_last))
                                : at::empty({0}, z.options().dtype(at::kByte));
  const Tensor y = activate(z, activation).view(sizes);
  return {in_format(y.to(x[0].scalar_type()), channels_last), mask};
}

/// dy f'(z); exactly 0 where ReLU stops or has reached its limit, whatever dy is.
Tensor through_activation(const Tensor& dy, const Tensor& z, std::string_view activation) {
  const Activation& function = activation_of(activation);
  switch (function.kind) {
    case Activation::Kind::kIdentity:
      return dy;
    case Activation::Kind::kRelu:
      return dy.masked_fill(std::isnan(function.limit) ? z.le(0) : z.le(0).logical_or(z.ge(function.limit)), 0);
    case Activation::Kind::kOther:
      break;
  }
  return dy * derivative_at(z, activation);
}

std::tuple<std::vector<Tensor>, Tensor, Tensor> backward(const Tensor& dy, at::TensorList x, const OptionalTensor& mask,
                                                         const Tensor& statistics, const OptionalTensor& correction,
                                                         at::IntArrayRef rows, std::string_view activation, bool lean,
                                                         bool want_dx) {
  const DimVector sizes = whole_sizes(x);
  const bool channels_last = backward_is_channels_last(x, mask);
  const Tensor maps = maps_of(x), scale = line_of(statistics, kScale, rows);
  Tensor dz = as_maps(dy).to(maps.scalar_type());
  if (mask) {
    const Tensor stopped = unpacked(*mask, layout_of(sizes, channels_last)).logical_not();
    const double slope = activation_of(activation).slope;
    dz = slope == 0 ? dz.masked_fill(stopped, 0) : at::where(stopped, slope * dz, dz);
  } else {
    dz = through_activation(dz, lean ? maps : maps * scale + line_of(statistics, kShift, rows), activation);
  }
  const Tensor deviation = maps - line_of(statistics, kMean, rows);

  Tensor sums = at::empty({0}, statistics.options());
  if (!correction) {
    const Tensor dz_xhat = dz * deviation * line_of(statistics, kRstd, rows);
    std::vector<Tensor> chunks;
    for (size_t k = 0; k + 1 < rows.size(); ++k)
      chunks.push_back(at::stack({rows_of(dz, rows, k).sum({0, 2}), rows_of(dz_xhat, rows, k).sum({0, 2})}));
    sums = at::stack(chunks).unsqueeze(0);
  }
  std::vector<Tensor> parts;
  Tensor dresidual = at::empty({0}, x[0].options());
  if (!want_dx) return {parts, sums, dresidual};

  const auto finished = [&](const Tensor& gradient) {
    return in_format(gradient.to(x[0].scalar_type()).reshape(sizes), channels_last);
  };
  if (mask) dresidual = finished(dz);
  Tensor dx = scale * dz;
  if (correction) {
    const Tensor of_group = correction->select(1, 0);
    dx = dx - (line_of(of_group, StatisticsLine{0}, rows) + line_of(of_group, StatisticsLine{1}, rows) * deviation);
  }
  dx = finished(dx);
  int64_t first = 0;
  for (const Tensor& part : x) {
    parts.push_back(x.size() == 1 ? dx : in_format(dx.narrow(1, first, part.size(1)), channels_last));
    first += part.size(1);
  }
  return {parts, sums, dresidual};
}

std::tuple<Tensor, Tensor, Tensor> gradients(const Tensor& sums, const Tensor& pooled_sums, const Tensor& statistics,
                                             at::ArrayRef<double> weights) {
  const Tensor scale = statistics.select(1, kScale), rstd = statistics.select(1, kRstd);
  const Tensor pooled = pooled_sums.sum(0), sum_dy = pooled.select(1, 0), sum_dy_xhat = pooled.select(1, 1);
  const int64_t first_count = kGroupMeans + std::ssize(weights);
  std::vector<Tensor> groups;
  for (size_t g = 0; g < weights.size(); ++g) {
    const Tensor scaled = weights[g] * scale / statistics.select(1, first_count + static_cast<int64_t>(g));
    groups.push_back(at::stack({scaled * sum_dy, scaled * rstd * sum_dy_xhat}, 1));
  }
  const Tensor own = sums.sum({0, 1});
  return {own.select(0, 1), own.select(0, 0), at::stack(groups, 1)};
}

void correct(at::TensorList dx, at::TensorList x, const Tensor& sample, const Tensor& statistics,
             const Tensor& correction, const Tensor& points, at::IntArrayRef rows, at::IntArrayRef counts) {
  const auto type = statistics.scalar_type();
  const auto groups = static_cast<int64_t>(counts.size() / (rows.size() - 1));
  const Tensor all = sample.size(0) > 0 ? sample.to(type) : values_at(maps_of(x), points);
  int64_t first = 0;
  for (size_t i = 0; i < counts.size(); first += counts[i], ++i) {
    const int64_t k = static_cast<int64_t>(i) / groups, g = static_cast<int64_t>(i) % groups;
    const Tensor deviation = all.narrow(0, first, counts[i]) - statistics.select(0, k).select(0, kGroupMeans + g);
    const Tensor of_group = correction.select(0, k).select(0, g);
    const Tensor taken_off = of_group.select(0, 0) + of_group.select(0, 1) * deviation;
    int64_t channel = 0;
    for (const Tensor& part : dx) {
      if (part.size(1) == 0) continue;
      const Tensor maps = as_maps(part).transpose(1, 2);
      const auto places = places_of(points.narrow(0, first, counts[i]), maps.size(1));
      const Tensor corrected = maps.index(places).to(type) - taken_off.narrow(1, channel, part.size(1));
      maps.index_put_(places, corrected.to(part.scalar_type()));
      channel += part.size(1);
    }
  }
}

}  // namespace
}  // namespace aten

at::Tensor one_block(const at::Tensor& moments) {
  if (moments.size(0) == 1) return moments;
  const auto line = [&](int64_t i) { return moments.select(3, i); };
  const at::Tensor count = line(0).sum(0), share = line(0) / count, mean = (share * line(1)).sum(0);
  const at::Tensor var = (share * (line(2).square() + (line(1) - mean).square())).sum(0);
  return at::stack({count, mean, var.sqrt()}, 2).unsqueeze(0);
}

const Steps aten_steps = {aten::moments, aten::statistics, aten::apply, aten::backward, aten::gradients, aten::correct};

}  // namespace samplenorm
