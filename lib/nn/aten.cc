// The operators written in ATen calls: for every device without kernels of ours, and as the differentiable form behind
// the second derivative. A group is gathered by the indices of its points, whatever its boxes are.

#include <ATen/ATen.h>

#include "core/points.h"
#include "nn/implementation.h"
#include "nn/tensor_layout.h"

namespace samplenorm::aten {
namespace {

/// (N, C, ...) as (points of all rows, C).
at::Tensor as_points(const at::Tensor& x) { return x.movedim(1, -1).reshape({-1, x.size(1)}); }

at::Tensor from_points(const at::Tensor& points, const at::Tensor& like) {
  return points.view(like.movedim(1, -1).sizes()).movedim(-1, 1);
}

at::Tensor indices_of(const Group& group, const Shape& shape, const at::Tensor& like) {
  std::vector<int64_t> indices;
  indices.reserve(static_cast<size_t>(group.points()));
  for_each_point(group, shape.height, shape.width,
                 [&](int64_t n, int64_t point) { indices.push_back(n * shape.map_points() + point); });
  return at::tensor(indices, at::kLong).to(like.device());
}

at::Tensor rows_of(const at::Tensor& tensor, const Chunk& chunk) {
  return tensor.narrow(0, chunk.first_row, chunk.shape.all_rows());
}

/// Rows of one chunk, as points in the type of statistics.
at::Tensor chunk_points(const at::Tensor& tensor, const Chunk& chunk) {
  return as_points(rows_of(tensor, chunk)).to(statistics_type(tensor));
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

/// One bit a point, in the order in which `y` lies in memory; a row of bytes for each row of y.
at::Tensor pack_mask(const at::Tensor& passes, const at::Tensor& y) {
  const at::Tensor ordered = lies_channels_last(y) ? passes : from_points(passes, y);
  const at::Tensor rows = ordered.reshape({y.size(0), -1}).to(at::kByte);
  const at::Tensor padded = at::constant_pad_nd(rows, {0, (8 - rows.size(1) % 8) % 8});
  const at::Tensor places = at::arange(8, padded.options());
  return at::bitwise_left_shift(padded.view({y.size(0), -1, 8}), places).sum(-1, false, at::kByte);
}

}  // namespace

at::Tensor unpack_mask(const at::Tensor& mask, const at::Tensor& like) {
  const at::Tensor places = at::arange(8, mask.options());
  const at::Tensor bits = at::bitwise_right_shift(mask.unsqueeze(-1), places).bitwise_and(1).flatten(1);
  const at::Tensor rows = bits.narrow(1, 0, like.numel() / like.size(0)).to(like.scalar_type());
  return lies_channels_last(like) ? from_points(rows.reshape({-1, like.size(1)}), like) : rows.reshape(like.sizes());
}

at::Tensor normalize(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Plan& plan,
                     double eps) {
  std::vector<at::Tensor> parts;
  for (const Chunk& chunk : plan.chunks) {
    const at::Tensor points = chunk_points(x, chunk);
    const ChunkStatistics statistics = statistics_of(points, chunk);
    const Affine coefficients = affine(weight, bias, statistics.mean, at::rsqrt(statistics.var + eps));
    parts.push_back(points * coefficients.scale + coefficients.shift);
  }
  return from_points(at::cat(parts), x).to(x.scalar_type());
}

SAMPLENORM_FORWARD(forward) {
  const Plan plan = make_plan(x.sizes(), spec, key);
  const ForwardArguments arguments{x, weight, bias, residual, relu};
  check_forward(arguments);
  Normalized out = allocate_outputs(arguments, plan);
  if (x.numel() == 0) return out.tuple();

  for (int64_t k = 0; k < plan.chunk_count(); ++k) {
    const Chunk& chunk = plan.chunks[static_cast<size_t>(k)];
    const at::Tensor points = chunk_points(x, chunk);
    const ChunkStatistics statistics = statistics_of(points, chunk);
    const at::Tensor mean = out.mean[k].copy_(statistics.mean);
    const at::Tensor rstd = out.rstd[k].copy_(at::rsqrt(statistics.var + eps));
    out.unbiased_var[k].copy_(statistics.unbiased_var);
    out.group_mean[k].copy_(statistics.group_mean);

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
  const Plan plan = make_plan(x.sizes(), spec, key);
  check_backward({dy, x, weight, bias, mean, rstd, group_mean, mask}, plan);
  const bool has_mask = mask && mask->defined();
  Gradients out;
  out.x = empty_dense_like(x);
  out.weight = at::zeros({x.size(1)}, mean.options());
  out.bias = at::zeros({x.size(1)}, mean.options());
  out.residual = has_mask ? empty_dense_like(x) : at::empty({0}, x.options());
  if (x.numel() == 0) return out.tuple();

  const Affine coefficients = affine(weight, bias, mean, rstd);
  const at::Tensor gradient = has_mask ? dy * unpack_mask(*mask, x) : dy;
  if (has_mask) out.residual.copy_(gradient);
  for (int64_t k = 0; k < plan.chunk_count(); ++k) {
    const Chunk& chunk = plan.chunks[static_cast<size_t>(k)];
    const at::Tensor scale = coefficients.scale[k];
    const at::Tensor points = chunk_points(x, chunk);
    at::Tensor dpoints = chunk_points(gradient, chunk);
    if (relu && !has_mask) dpoints = dpoints.masked_fill((points * scale + coefficients.shift[k]).le(0), 0);
    const at::Tensor sum_dy = dpoints.sum(0);
    const at::Tensor sum_dy_xhat = (dpoints * ((points - mean[k]) * rstd[k])).sum(0);
    out.bias.add_(sum_dy);
    out.weight.add_(sum_dy_xhat);

    const at::Tensor dx = scale * dpoints;
    for (size_t g = 0; g < chunk.sample.groups.size(); ++g) {
      const Group& group = chunk.sample.groups[g];
      const double share = group.weight / static_cast<double>(group.points());
      const at::Tensor indices = indices_of(group, chunk.shape, points);
      const at::Tensor deviation = points.index_select(0, indices) - group_mean[k][static_cast<int64_t>(g)];
      dx.index_add_(0, indices, -share * scale * (sum_dy + rstd[k] * sum_dy_xhat * deviation));
    }
    const at::Tensor dx_rows = rows_of(out.x, chunk);
    dx_rows.copy_(from_points(dx, dx_rows));
  }
  return out.tuple();
}

}  // namespace samplenorm::aten
