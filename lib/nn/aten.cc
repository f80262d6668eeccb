// The operators written in ATen calls: for every device without kernels of ours, and as the differentiable form behind
// the second derivative. A group is gathered by the indices of its points, whatever its boxes are.

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

#include "comm/pool.h"
#include "core/points.h"
#include "nn/implementation.h"
#include "nn/tensor_layout.h"

namespace samplenorm::aten {
namespace {

/// (N, C, ...) as (points of all rows, C).
at::Tensor as_points(const at::Tensor& x) {
  return x.movedim(1, -1).reshape({x.numel() / std::max<int64_t>(x.size(1), 1), x.size(1)});
}

at::Tensor from_points(const at::Tensor& points, const at::Tensor& like) {
  return points.view(like.movedim(1, -1).sizes()).movedim(-1, 1);
}

at::Tensor indices_of(const Group& group, const Shape& shape, const at::Tensor& like) {
  // Not at::tensor(), whose result torch.func would wrap before it is filled.
  const at::Tensor indices = at::detail::empty_cpu({group.points()}, at::kLong);
  int64_t* next = indices.mutable_data_ptr<int64_t>();
  for_each_point(group, shape.height, shape.width,
                 [&](int64_t n, int64_t point) { *next++ = n * shape.map_points() + point; });
  return indices.to(like.device());
}

at::Tensor rows_of(const at::Tensor& tensor, const Chunk& chunk) {
  return tensor.narrow(0, chunk.first_row, chunk.shape.all_rows());
}

/// Rows of one chunk, as points in the type of statistics.
at::Tensor chunk_points(const at::Tensor& tensor, const Chunk& chunk) {
  return as_points(rows_of(tensor, chunk)).to(statistics_type(tensor));
}

/// Elements of an inner run of a dense tensor like `tensor`.
int64_t run_length(const at::Tensor& tensor) {
  const int64_t points = tensor.numel() / (tensor.size(0) * tensor.size(1));
  return lies_channels_last(tensor) || points == 1 ? tensor.size(1) : points;
}

/// xhat from y, where ReLU let it pass.
at::Tensor recovered(const at::Tensor& y, const OptionalTensor& weight, const OptionalTensor& bias) {
  const at::Tensor centred = bias && bias->defined() ? y - bias->to(y.scalar_type()) : y;
  return weight && weight->defined() ? centred / weight->to(y.scalar_type()) : centred;
}

struct ChunkStatistics {
  at::Tensor mean, var, unbiased_var, group_mean;
};

ChunkStatistics statistics_of(const at::Tensor& points, const Chunk& chunk) {
  ChunkStatistics out;
  out.mean = out.var = out.unbiased_var = at::zeros({points.size(1)}, points.options());
  std::vector<at::Tensor> group_means;
  for (const Group& group : chunk.sample.groups) {
    const auto count = static_cast<double>(group.points());
    const at::Tensor sampled = points.index_select(0, indices_of(group, chunk.shape, points));
    const at::Tensor mean = sampled.mean(0);
    const at::Tensor var = (sampled - mean).square().mean(0);
    out.mean = out.mean + group.weight * mean;
    out.var = out.var + group.weight * var;
    out.unbiased_var = out.unbiased_var + group.weight * count / std::max(count - 1, 1.0) * var;
    group_means.push_back(mean);
  }
  out.group_mean = at::stack(group_means);
  return out;
}

/// The same of the points of all processes. The few numbers that they exchange go through the CPU.
ChunkStatistics pooled_statistics(const at::Tensor& points, const Chunk& chunk, const Plan& plan, at::IntArrayRef sizes,
                                  Communicator& processes, std::string_view notation) {
  const auto on_cpu = at::TensorOptions(at::kDouble);
  const int64_t channels = points.size(1);
  std::vector<at::Tensor> values;
  const auto view = [&](const at::Tensor& tensor) {
    values.push_back(tensor.to(on_cpu).contiguous());
    return std::span(values.back().mutable_data_ptr<double>(), static_cast<size_t>(channels));
  };
  const at::Tensor none = at::zeros({channels}, on_cpu);
  std::vector<WeightedMoments> weighted;
  for (const Group& group : chunk.sample.groups) {
    const auto count = static_cast<double>(group.points());
    at::Tensor mean = none.clone(), m2 = none.clone();
    if (count > 0) {
      const at::Tensor sampled = points.index_select(0, indices_of(group, chunk.shape, points));
      mean = sampled.mean(0);
      m2 = (sampled - mean).square().sum(0);
    }
    weighted.push_back({group.weight, {count, view(mean), view(m2)}});
  }
  pool_moments(processes, plan.contributors, weighted);
  const Statistics statistics{view(none.clone()), view(none.clone()), view(none.clone())};
  combine(weighted, statistics);

  std::vector<double> counts;
  std::vector<at::Tensor> group_means;
  for (size_t g = 0; g < weighted.size(); ++g) {
    counts.push_back(weighted[g].moments.count);
    group_means.push_back(values[2 * g]);
  }
  check_values_per_channel(counts, sizes, notation);
  const size_t first = 2 * weighted.size();
  const auto back = [&](const at::Tensor& tensor) { return tensor.to(points.options()); };
  return {back(values[first]), back(values[first + 1]), back(values[first + 2]), back(at::stack(group_means))};
}

/// Of backward, over all points, (C).
struct Sums {
  at::Tensor dy, dy_xhat;
};

/// dx with the correction of a group's points; `scale` is gamma / sigma times the group's weight a point.
at::Tensor corrected(const at::Tensor& dx, const at::Tensor& indices, const at::Tensor& deviation,
                     const at::Tensor& scale, const at::Tensor& rstd, const Sums& sums) {
  return dx.index_add(0, indices, -scale * (sums.dy + rstd * sums.dy_xhat * deviation));
}

/// Sums over all processes, in their place.
void pool_sums(Communicator& processes, Sums& sums, std::span<double> points) {
  const auto on_cpu = [](const at::Tensor& tensor) { return tensor.to(at::kCPU, at::kDouble).contiguous().clone(); };
  const auto view = [](const at::Tensor& tensor) {
    return std::span(tensor.mutable_data_ptr<double>(), static_cast<size_t>(tensor.numel()));
  };
  const at::Tensor all_dy = on_cpu(sums.dy), all_dy_xhat = on_cpu(sums.dy_xhat);
  pool_gradients(processes, view(all_dy), view(all_dy_xhat), points);
  sums = {all_dy.to(sums.dy.options()), all_dy_xhat.to(sums.dy_xhat.options())};
}

/// One bit a point, in the order in which `y` lies in memory; a row of bytes for each row of y, an inner run (a point's
/// channels or a channel's map) beginning with a byte.
at::Tensor pack_mask(const at::Tensor& passes, const at::Tensor& y) {
  const at::Tensor ordered = lies_channels_last(y) ? passes : from_points(passes, y);
  const at::Tensor runs = ordered.reshape({-1, run_length(y)}).to(at::kByte);
  const at::Tensor padded = at::constant_pad_nd(runs, {0, (8 - runs.size(1) % 8) % 8});
  const at::Tensor places = at::arange(8, padded.options());
  return at::bitwise_left_shift(padded.view({y.size(0), -1, 8}), places).sum(-1, false, at::kByte);
}

/// The order of the copy of a sample: by point, or by channel.
bool copied_by_point(const Chunk& chunk, at::TensorList x) {
  return lies_channels_last(x[0]) || chunk.shape.map_points() == 1;
}

/// The part of `sampled_x` that belongs to a group, as (points, C).
at::Tensor copy_of(const at::Tensor& sampled_x, const Chunk& chunk, size_t g, at::TensorList x) {
  int64_t channels = 0;
  for (const at::Tensor& part : x) channels += part.size(1);
  const int64_t points = chunk.sample.groups[g].points();
  int64_t begin = chunk.first_in_copy[g] * channels;
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : x) {
    const int64_t count = part.size(1);
    const at::Tensor values = sampled_x.narrow(0, begin, points * count);
    parts.push_back(copied_by_point(chunk, x) ? values.view({points, count}) : values.view({count, points}).t());
    begin += points * count;
  }
  return at::cat(parts, 1);
}

/// Writes a group's points into `sampled_x`.
void fill_copy(const at::Tensor& sampled_x, const at::Tensor& points, const Chunk& chunk, size_t g, at::TensorList x) {
  const at::Tensor sampled = points.index_select(0, indices_of(chunk.sample.groups[g], chunk.shape, points));
  int64_t begin = chunk.first_in_copy[g] * points.size(1), first = 0;
  for (const at::Tensor& part : x) {
    const at::Tensor values = sampled.narrow(1, first, part.size(1));
    sampled_x.narrow(0, begin, values.numel()).copy_((copied_by_point(chunk, x) ? values : values.t()).reshape(-1));
    begin += values.numel();
    first += part.size(1);
  }
}

at::Tensor concatenated(at::TensorList x) { return x.size() == 1 ? x[0] : at::cat(x, 1); }

}  // namespace

at::Tensor unpack_mask(const at::Tensor& mask, const at::Tensor& like) {
  if (like.numel() == 0) return at::empty_like(like);
  const at::Tensor places = at::arange(8, mask.options());
  const int64_t length = run_length(like);
  const at::Tensor bytes = mask.reshape({-1, (length + 7) / 8, 1});
  const at::Tensor bits = at::bitwise_right_shift(bytes, places).bitwise_and(1).flatten(1);
  const at::Tensor runs = bits.narrow(1, 0, length).to(like.scalar_type());
  return lies_channels_last(like) ? from_points(runs.reshape({-1, like.size(1)}), like) : runs.reshape(like.sizes());
}

DifferentiableGradients gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                  const at::Tensor& bias, const at::Tensor& mask, const Plan& plan, double eps,
                                  bool relu) {
  const bool has_mask = mask.dim() == 2;
  DifferentiableGradients out;
  out.residual = has_mask ? dy * unpack_mask(mask, x) : dy;
  std::vector<at::Tensor> parts;
  for (const Chunk& chunk : plan.chunks) {
    const at::Tensor points = chunk_points(x, chunk);
    const ChunkStatistics statistics = statistics_of(points, chunk);
    const at::Tensor rstd = at::rsqrt(statistics.var + eps);
    const Affine coefficients = affine(weight, bias, statistics.mean, rstd);
    at::Tensor dpoints = chunk_points(out.residual, chunk);
    if (relu && !has_mask)
      dpoints = dpoints.masked_fill((points * coefficients.scale + coefficients.shift).detach().le(0), 0);
    const Sums sums{dpoints.sum(0), (dpoints * ((points - statistics.mean) * rstd)).sum(0)};
    out.bias = out.bias.defined() ? out.bias + sums.dy : sums.dy;
    out.weight = out.weight.defined() ? out.weight + sums.dy_xhat : sums.dy_xhat;

    at::Tensor dx = coefficients.scale * dpoints;
    for (size_t g = 0; g < chunk.sample.groups.size(); ++g) {
      const Group& group = chunk.sample.groups[g];
      const at::Tensor indices = indices_of(group, chunk.shape, points);
      const at::Tensor deviation = points.index_select(0, indices) - statistics.group_mean[static_cast<int64_t>(g)];
      const double share = group.weight / static_cast<double>(group.points());
      dx = corrected(dx, indices, deviation, share * coefficients.scale, rstd, sums);
    }
    parts.push_back(dx);
  }
  out.x = from_points(at::cat(parts), x).to(x.scalar_type());
  return out;
}

SAMPLENORM_FORWARD(forward) {
  (void)lean;
  const std::vector<int64_t> sizes = whole_sizes(x);
  const KeyNumbers numbers = key_numbers(key, rank, ranks);
  const auto plan = make_plan(sizes, spec, numbers, !group.empty());
  const ForwardArguments arguments{x, sizes, weight, bias, residual, eps, relu};
  check_forward(arguments);
  const auto processes = communicator_of(group, numbers);
  const Normalized out = allocate_outputs(arguments, *plan);
  if (out.y.numel() == 0 && !processes) return out.tuple();

  const at::Tensor whole = concatenated(x);
  for (int64_t k = 0; k < plan->sizes.chunks; ++k) {
    const Chunk& chunk = plan->chunks[static_cast<size_t>(k)];
    const at::Tensor points = chunk_points(whole, chunk);
    const ChunkStatistics statistics =
        processes ? pooled_statistics(points, chunk, *plan, sizes, *processes, spec) : statistics_of(points, chunk);
    const at::Tensor mean = out.mean[k].copy_(statistics.mean);
    const at::Tensor rstd = out.rstd[k].copy_(at::rsqrt(statistics.var + eps));
    out.unbiased_var[k].copy_(statistics.unbiased_var);
    out.group_mean[k].copy_(statistics.group_mean);
    if (!chunk.has_rows()) continue;
    for (size_t g = 0; g < chunk.sample.groups.size() && !chunk.everything; ++g)
      fill_copy(out.sampled_x, as_points(rows_of(whole, chunk)), chunk, g, x);

    const Affine coefficients = affine(weight, bias, mean, rstd);
    at::Tensor y = points * coefficients.scale + coefficients.shift;
    if (residual && residual->defined()) y = y + chunk_points(*residual, chunk);
    const at::Tensor y_rows = rows_of(out.y, chunk);
    if (arguments.needs_mask()) rows_of(out.mask, chunk).copy_(pack_mask(y.le(0).logical_not(), y_rows));
    y_rows.copy_(from_points(relu ? y.relu() : y, y_rows));
  }
  return out.tuple();
}

SAMPLENORM_BACKWARD(backward) {
  const std::vector<int64_t> sizes = whole_sizes(x);
  const KeyNumbers numbers = key_numbers(key, rank, ranks);
  const auto plan = make_plan(sizes, spec, numbers, !group.empty());
  const BackwardArguments arguments{dy, x, sizes, weight, bias, mean, rstd, group_mean, sampled_x, mask, lean};
  check_backward(arguments, plan->sizes);
  const auto processes = communicator_of(group, numbers);
  Gradients out = allocate_gradients(arguments);
  if (dy.numel() == 0 && !processes) return out.tuple();

  const at::Tensor whole = concatenated(x);
  out.weight.zero_();
  out.bias.zero_();
  const bool has_mask = mask && mask->defined();
  const Affine coefficients = affine(weight, bias, mean, rstd);
  const at::Tensor gradient = has_mask ? dy * unpack_mask(*mask, whole) : dy;
  if (has_mask) out.residual.copy_(gradient);
  const at::Tensor whole_dx = x.size() == 1 ? out.x[0] : empty_dense_like(x[0], sizes);
  for (int64_t k = 0; k < plan->sizes.chunks; ++k) {
    const Chunk& chunk = plan->chunks[static_cast<size_t>(k)];
    const at::Tensor scale = coefficients.scale[k];
    const at::Tensor points = chunk_points(whole, chunk);
    at::Tensor dpoints = chunk_points(gradient, chunk);
    if (relu && !has_mask) {
      const at::Tensor y = lean ? points : points * scale + coefficients.shift[k];
      dpoints = dpoints.masked_fill(y.le(0), 0);
    }
    const at::Tensor xhat = lean ? recovered(points, weight, bias) : (points - mean[k]) * rstd[k];
    Sums sums{dpoints.sum(0), (dpoints * xhat).sum(0)};
    out.bias.add_(sums.dy);
    out.weight.add_(sums.dy_xhat);

    std::vector<double> group_points;
    for (const Group& sampled : chunk.sample.groups) group_points.push_back(static_cast<double>(sampled.points()));
    if (processes) pool_sums(*processes, sums, group_points);
    if (!chunk.has_rows()) continue;

    at::Tensor dx = scale * dpoints;
    for (size_t g = 0; g < chunk.sample.groups.size(); ++g) {
      const Group& sampled_group = chunk.sample.groups[g];
      const double share = sampled_group.weight / group_points[g];
      const at::Tensor indices = indices_of(sampled_group, chunk.shape, points);
      const at::Tensor sampled =
          chunk.everything ? points.index_select(0, indices) : copy_of(sampled_x, chunk, g, x).to(points.scalar_type());
      const at::Tensor deviation = sampled - group_mean[k][static_cast<int64_t>(g)];
      dx = corrected(dx, indices, deviation, share * scale, rstd[k], sums);
    }
    const at::Tensor dx_rows = rows_of(whole_dx, chunk);
    dx_rows.copy_(from_points(dx, dx_rows));
  }
  for (int64_t i = 0, first = 0; x.size() > 1 && i < static_cast<int64_t>(x.size()); ++i) {
    at::Tensor& dx = out.x[static_cast<size_t>(i)];
    dx.copy_(whole_dx.narrow(1, first, dx.size(1)));
    first += dx.size(1);
  }
  return out.tuple();
}

}  // namespace samplenorm::aten
