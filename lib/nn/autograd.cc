// The derivative of sampled_batch_norm. The first one is the one-pass kernel; where a second is asked for
// (create_graph), the first is built from ATen calls instead, which differentiate themselves.

#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <array>

#include "nn/implementation.h"

namespace samplenorm {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// dx, dweight, dbias and dresidual as differentiable functions of dy, x, weight and bias.
variable_list differentiable_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                       const at::Tensor& bias, const at::Tensor& mask, const Plan& plan, double eps,
                                       bool relu) {
  const at::Tensor z = aten::normalize(x, weight, bias, plan, eps);
  at::Tensor gradient = dy;
  if (mask.dim() == 2) {
    gradient = dy * aten::unpack_mask(mask, x);
  } else if (relu) {
    gradient = dy.masked_fill(z.detach().le(0), 0);
  }
  variable_list gradients = {{}, {}, {}, gradient};
  const std::array inputs = {x, weight, bias};
  variable_list wanted;
  for (const at::Tensor& input : inputs)
    if (input.defined() && input.requires_grad()) wanted.push_back(input);
  if (wanted.empty()) return gradients;
  const variable_list found =
      torch::autograd::grad({z}, wanted, {gradient}, /*retain_graph=*/true, /*create_graph=*/true);
  for (size_t i = 0, next = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].requires_grad()) gradients[i] = found[next++];
  return gradients;
}

class SampledBatchNormFunction : public torch::autograd::Function<SampledBatchNormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const OptionalTensor& weight_or_none,
                               const OptionalTensor& bias_or_none, const OptionalTensor& residual_or_none,
                               const std::string& spec, std::vector<int64_t> key, double eps, bool relu) {
    at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor weight = value_or_undefined(weight_or_none);
    const at::Tensor bias = value_or_undefined(bias_or_none);
    const at::Tensor residual = value_or_undefined(residual_or_none);
    Normalized out = sampled_batch_norm(x, weight, bias, residual, spec, key, eps, relu);
    context->save_for_backward({x, weight, bias, out.mean, out.rstd, out.group_mean, out.mask});
    context->saved_data["spec"] = spec;
    context->saved_data["key"] = std::move(key);
    context->saved_data["eps"] = eps;
    context->saved_data["relu"] = relu;
    context->saved_data["residual"] = residual.defined();
    context->mark_non_differentiable({out.mean, out.rstd, out.unbiased_var, out.group_mean, out.mask});
    return {out.y, out.mean, out.rstd, out.unbiased_var, out.group_mean, out.mask};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &bias = saved[2];
    const at::Tensor& dy = gradients[0];
    const std::string spec = context->saved_data["spec"].toStringRef();
    const std::vector<int64_t> key = context->saved_data["key"].toIntVector();
    const bool relu = context->saved_data["relu"].toBool();
    const bool has_residual = context->saved_data["residual"].toBool();

    variable_list result(8);
    if (!dy.defined()) return result;
    if (at::GradMode::is_enabled() && x.numel() > 0) {
      variable_list first = differentiable_gradients(dy, x, weight, bias, saved[6], make_plan(x.sizes(), spec, key),
                                                     context->saved_data["eps"].toDouble(), relu);
      std::move(first.begin(), first.end(), result.begin());
      if (!has_residual) result[3].reset();
      return result;
    }
    const Normalized statistics{
        .y = {}, .mean = saved[3], .rstd = saved[4], .unbiased_var = {}, .group_mean = saved[5], .mask = saved[6]};
    Gradients found = sampled_batch_norm_backward(dy, x, weight, bias, statistics, spec, key, relu);
    result[0] = found.x;
    if (weight.defined()) result[1] = found.weight.to(weight.scalar_type());
    if (bias.defined()) result[2] = found.bias.to(bias.scalar_type());
    if (has_residual) result[3] = relu ? found.residual : dy;
    return result;
  }
};

SAMPLENORM_FORWARD(differentiable) {
  const variable_list out =
      SampledBatchNormFunction::apply(x, weight, bias, residual, std::string(spec), key.vec(), eps, relu);
  return {out[0], out[1], out[2], out[3], out[4], out[5]};
}

}  // namespace

TORCH_LIBRARY_IMPL(samplenorm, Autograd, library) {
  library.impl("sampled_batch_norm", differentiable);
  library.impl("sampled_batch_norm_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace samplenorm
