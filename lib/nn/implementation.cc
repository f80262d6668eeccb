#include "nn/implementation.h"

#include <ATen/ATen.h>

#include "nn/tensor_layout.h"

namespace samplenorm {
namespace {

constexpr const char* kName = "samplenorm::sampled_batch_norm";

void check_per_channel(const OptionalTensor& tensor, int64_t channels, const at::Tensor& x, const char* what) {
  if (!tensor || !tensor->defined()) return;
  TORCH_CHECK(tensor->dim() == 1 && tensor->size(0) == channels, kName, ": expected ", what, " of size [", channels,
              "] for an input of size ", x.sizes(), ", got ", tensor->sizes());
  TORCH_CHECK(tensor->device() == x.device(), kName, ": expected ", what, " on ", x.device(), ", got ",
              tensor->device());
  TORCH_CHECK(at::isFloatingType(tensor->scalar_type()), kName, ": expected a floating-point ", what, ", got ",
              tensor->scalar_type());
}

void check_like(const at::Tensor& tensor, const at::Tensor& x, const char* what) {
  TORCH_CHECK(tensor.sizes() == x.sizes() && tensor.scalar_type() == x.scalar_type() && tensor.device() == x.device(),
              kName, ": expected ", what, " like the input, ", x.sizes(), " of ", x.scalar_type(), " on ", x.device(),
              ", got ", tensor.sizes(), " of ", tensor.scalar_type(), " on ", tensor.device());
}

void check_input(const at::Tensor& x) {
  const auto type = x.scalar_type();
  TORCH_CHECK(type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || type == at::kHalf, kName,
              ": expected an input of float32, float64, bfloat16 or float16, got ", type);
}

}  // namespace

void check_forward(const ForwardArguments& arguments) {
  const at::Tensor& x = arguments.x;
  check_input(x);
  check_per_channel(arguments.weight, x.size(1), x, "a weight");
  check_per_channel(arguments.bias, x.size(1), x, "a bias");
  if (arguments.residual && arguments.residual->defined()) check_like(*arguments.residual, x, "a residual");
}

void check_backward(const BackwardArguments& arguments, const Plan& plan) {
  const at::Tensor& x = arguments.x;
  check_input(x);
  check_like(arguments.dy, x, "a gradient");
  check_per_channel(arguments.weight, x.size(1), x, "a weight");
  check_per_channel(arguments.bias, x.size(1), x, "a bias");
  const auto check_saved = [&](const at::Tensor& saved, at::IntArrayRef sizes, at::ScalarType type, const char* what) {
    TORCH_CHECK(
        saved.sizes() == sizes && saved.scalar_type() == type && saved.is_contiguous() && saved.device() == x.device(),
        kName, ": expected forward's ", what, ", contiguous, ", sizes, " of ", type, " on ", x.device(), ", got ",
        saved.sizes(), " of ", saved.scalar_type(), " on ", saved.device());
  };
  check_saved(arguments.mean, {plan.chunk_count(), x.size(1)}, statistics_type(x), "mean");
  check_saved(arguments.rstd, {plan.chunk_count(), x.size(1)}, statistics_type(x), "rstd");
  check_saved(arguments.group_mean, {plan.chunk_count(), plan.groups, x.size(1)}, statistics_type(x), "group_mean");
  if (arguments.mask && arguments.mask->defined()) check_saved(*arguments.mask, mask_sizes(x), at::kByte, "mask");
}

at::ScalarType statistics_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

Normalized allocate_outputs(const ForwardArguments& arguments, const Plan& plan) {
  const at::Tensor& x = arguments.x;
  const auto options = x.options().dtype(statistics_type(x));
  const auto per_channel = [&] { return at::zeros({plan.chunk_count(), x.size(1)}, options); };
  Normalized out;
  out.y = empty_dense_like(x);
  out.mean = per_channel();
  out.rstd = per_channel();
  out.unbiased_var = per_channel();
  out.group_mean = at::zeros({plan.chunk_count(), plan.groups, x.size(1)}, options);
  const std::vector<int64_t> sizes = arguments.needs_mask() ? mask_sizes(x) : std::vector<int64_t>{0};
  out.mask = at::empty(sizes, x.options().dtype(at::kByte));
  return out;
}

Affine affine(const OptionalTensor& weight, const OptionalTensor& bias, const at::Tensor& mean,
              const at::Tensor& rstd) {
  const auto type = mean.scalar_type();
  Affine result;
  result.scale = weight && weight->defined() ? rstd * weight->to(type) : rstd;
  const at::Tensor centre = mean * result.scale;
  result.shift = bias && bias->defined() ? bias->to(type) - centre : -centre;
  return result;
}

}  // namespace samplenorm
