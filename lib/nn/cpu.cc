// The operators on the CPU: five steps, each a kernel, sequenced here. moments, combine, apply; backward, correct.

#include <ATen/ATen.h>

#include <cmath>
#include <type_traits>

#include "kernels/reference.h"
#include "kernels/types.h"
#include "nn/implementation.h"
#include "nn/tensor_layout.h"

namespace samplenorm::cpu {
namespace {

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

/// The address of row `row` of a tensor, null for an undefined or empty one.
template <class T>
T* row_of(const at::Tensor& tensor, int64_t row) {
  if (!tensor.defined() || tensor.numel() == 0) return nullptr;
  const int64_t offset = row * (tensor.numel() / tensor.size(0));
  if constexpr (std::is_const_v<T>) {
    return static_cast<T*>(tensor.const_data_ptr()) + offset;
  } else {
    return static_cast<T*>(tensor.data_ptr()) + offset;
  }
}

std::span<double> channels_of(const at::Tensor& doubles, int64_t chunk) {
  return {row_of<double>(doubles, chunk), static_cast<size_t>(doubles.size(-1))};
}

/// Fills mean, rstd, unbiased_var and group_mean.
void find_statistics(const at::Tensor& x, const Plan& plan, double eps, Normalized& out) {
  const Layout layout = layout_of(x);
  const auto doubles = x.options().dtype(at::kDouble);
  const int64_t chunks = plan.chunk_count();
  const at::Tensor group_mean = at::empty({chunks, plan.groups, layout.channels}, doubles);
  const at::Tensor group_m2 = at::empty_like(group_mean);
  const at::Tensor statistics = at::empty({3, chunks, layout.channels}, doubles);
  const at::Tensor mean = statistics[0], var = statistics[1], unbiased_var = statistics[2];

  for (int64_t k = 0; k < chunks; ++k) {
    const Chunk& chunk = plan.chunks[static_cast<size_t>(k)];
    std::vector<WeightedMoments> groups;
    for (const Group& group : chunk.sample.groups) {
      const auto g = static_cast<int64_t>(groups.size());
      Moments moments{0, channels_of(group_mean[k], g), channels_of(group_m2[k], g)};
      with_type(x.scalar_type(), [&]<class T>(std::type_identity<T>) {
        reference::moments(layout.with_rows(chunk.shape.all_rows()), row_of<const T>(x, chunk.first_row), group,
                           moments);
      });
      groups.push_back({group.weight, moments});
    }
    combine(groups, {channels_of(mean, k), channels_of(var, k), channels_of(unbiased_var, k)});
  }

  out.mean.copy_(mean);
  out.rstd.copy_(at::rsqrt(var + eps));
  out.unbiased_var.copy_(unbiased_var);
  out.group_mean.copy_(group_mean);
}

}  // namespace

SAMPLENORM_FORWARD(forward) {
  const Plan plan = make_plan(x.sizes(), spec, key);
  const ForwardArguments arguments{x, weight, bias, residual, relu};
  check_forward(arguments);
  Normalized out = allocate_outputs(arguments, plan);
  if (x.numel() == 0) return out.tuple();

  const at::Tensor input = dense(x);
  const at::Tensor added = residual && residual->defined() ? dense_like(*residual, input) : at::Tensor();
  find_statistics(input, plan, eps, out);
  const Affine coefficients = affine(weight, bias, out.mean, out.rstd);
  const Layout layout = layout_of(input);
  with_type(x.scalar_type(), [&]<class T>(std::type_identity<T>) {
    for (int64_t k = 0; k < plan.chunk_count(); ++k) {
      const Chunk& chunk = plan.chunks[static_cast<size_t>(k)];
      reference::Apply<T> arguments_of_chunk{
          .x = row_of<const T>(input, chunk.first_row),
          .residual = row_of<const T>(added, chunk.first_row),
          .scale = row_of<const Compute<T>>(coefficients.scale, k),
          .shift = row_of<const Compute<T>>(coefficients.shift, k),
          .relu = relu,
          .y = row_of<T>(out.y, chunk.first_row),
          .mask = row_of<uint8_t>(out.mask, chunk.first_row),
      };
      reference::apply(layout.with_rows(chunk.shape.all_rows()), arguments_of_chunk);
    }
  });
  return out.tuple();
}

SAMPLENORM_BACKWARD(backward) {
  const Plan plan = make_plan(x.sizes(), spec, key);
  check_backward({dy, x, weight, bias, mean, rstd, group_mean, mask}, plan);
  const at::Tensor input = dense(x);
  const at::Tensor gradient = dense_like(dy, input);
  const at::Tensor bits = mask && mask->defined() ? *mask : at::Tensor();
  const Layout layout = layout_of(input);
  const at::Tensor sums = at::zeros({2, plan.chunk_count(), x.size(1)}, x.options().dtype(at::kDouble));
  const at::Tensor sum_dy = sums[0], sum_dy_xhat = sums[1];
  const Affine coefficients = affine(weight, bias, mean, rstd);

  Gradients out;
  out.x = empty_dense_like(input);
  out.residual = bits.defined() ? empty_dense_like(input) : at::empty({0}, x.options());
  with_type(x.scalar_type(), [&]<class T>(std::type_identity<T>) {
    for (int64_t k = 0; x.numel() > 0 && k < plan.chunk_count(); ++k) {
      const Chunk& chunk = plan.chunks[static_cast<size_t>(k)];
      const Layout rows = layout.with_rows(chunk.shape.all_rows());
      reference::Backward<T> pass{
          .dy = row_of<const T>(gradient, chunk.first_row),
          .x = row_of<const T>(input, chunk.first_row),
          .mean = row_of<const Compute<T>>(mean, k),
          .rstd = row_of<const Compute<T>>(rstd, k),
          .scale = row_of<const Compute<T>>(coefficients.scale, k),
          .shift = row_of<const Compute<T>>(coefficients.shift, k),
          .relu = relu,
          .mask = row_of<const uint8_t>(bits, chunk.first_row),
          .dx = row_of<T>(out.x, chunk.first_row),
          .dresidual = row_of<T>(out.residual, chunk.first_row),
          .sum_dy = channels_of(sum_dy, k),
          .sum_dy_xhat = channels_of(sum_dy_xhat, k),
      };
      reference::backward(rows, pass);

      for (size_t g = 0; g < chunk.sample.groups.size(); ++g) {
        const Group& group = chunk.sample.groups[g];
        const double share = group.weight / static_cast<double>(group.points());
        const auto type = mean.scalar_type();
        const at::Tensor offset = (share * coefficients.scale[k] * sum_dy[k]).to(type);
        const at::Tensor slope = (share * coefficients.scale[k] * rstd[k] * sum_dy_xhat[k]).to(type);
        reference::Correct<T> correction{
            .x = pass.x,
            .group_mean = row_of<const Compute<T>>(group_mean[k], static_cast<int64_t>(g)),
            .offset = row_of<const Compute<T>>(offset, 0),
            .slope = row_of<const Compute<T>>(slope, 0),
            .dx = pass.dx,
        };
        reference::correct(rows, group, correction);
      }
    }
  });
  out.weight = sum_dy_xhat.sum(0).to(mean.scalar_type());
  out.bias = sum_dy.sum(0).to(mean.scalar_type());
  return out.tuple();
}

}  // namespace samplenorm::cpu
