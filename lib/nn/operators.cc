#include "nn/operators.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "nn/implementation.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace meta {

SAMPLENORM_FORWARD(forward) {
  (void)lean;
  const std::vector<int64_t> sizes = whole_sizes(x);
  const auto plan = make_plan(sizes, spec, key, !group.empty());
  const ForwardArguments arguments{x, sizes, weight, bias, residual, eps, relu};
  check_forward(arguments);
  return allocate_outputs(arguments, *plan).tuple();
}

SAMPLENORM_BACKWARD(backward) {
  (void)relu;
  const std::vector<int64_t> sizes = whole_sizes(x);
  const BackwardArguments arguments{dy, x, sizes, weight, bias, mean, rstd, group_mean, sampled_x, mask, lean};
  check_backward(arguments, *make_plan(sizes, spec, key, !group.empty()));
  return allocate_gradients(arguments).tuple();
}

}  // namespace meta

namespace {

OptionalTensor if_defined(const at::Tensor& tensor) { return tensor.defined() ? OptionalTensor(tensor) : std::nullopt; }

}  // namespace

Normalized sampled_batch_norm(at::TensorList x, const at::Tensor& weight, const at::Tensor& bias,
                              const at::Tensor& residual, const std::string& spec, at::IntArrayRef key, double eps,
                              bool relu, bool lean, const std::string& group) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("samplenorm::sampled_batch_norm", "")
                             .typed<decltype(cpu::forward)>();
  auto [y, mean, rstd, unbiased_var, group_mean, sampled_x, mask] =
      op.call(x, if_defined(weight), if_defined(bias), if_defined(residual), spec, key, eps, relu, lean, group);
  return {y, mean, rstd, unbiased_var, group_mean, sampled_x, mask};
}

Gradients sampled_batch_norm_backward(const at::Tensor& dy, at::TensorList x, const at::Tensor& weight,
                                      const at::Tensor& bias, const Normalized& saved, const std::string& spec,
                                      at::IntArrayRef key, bool relu, bool lean, const std::string& group) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("samplenorm::sampled_batch_norm_backward", "")
                             .typed<decltype(cpu::backward)>();
  // A mask of one dimension is the empty one of a layer that needs none.
  const OptionalTensor mask = saved.mask.dim() == 2 ? OptionalTensor(saved.mask) : std::nullopt;
  auto [dx, dweight, dbias, dresidual] = op.call(dy, x, if_defined(weight), if_defined(bias), saved.mean, saved.rstd,
                                                 saved.group_mean, saved.sampled_x, mask, spec, key, relu, lean, group);
  return {std::move(dx), dweight, dbias, dresidual};
}

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def(
      "sampled_batch_norm(Tensor[] x, Tensor? weight, Tensor? bias, Tensor? residual, str spec, int[] key, float eps, "
      "bool relu, bool lean=False, str group=\"\") -> (Tensor y, Tensor mean, Tensor rstd, Tensor unbiased_var, Tensor "
      "group_mean, "
      "Tensor sampled_x, Tensor mask)");
  library.def(
      "sampled_batch_norm_backward(Tensor dy, Tensor[] x, Tensor? weight, Tensor? bias, Tensor mean, Tensor rstd, "
      "Tensor group_mean, Tensor sampled_x, Tensor? mask, str spec, int[] key, bool relu, bool lean=False, "
      "str group=\"\") -> "
      "(Tensor[] dx, Tensor dweight, Tensor dbias, Tensor dresidual)");
}

TORCH_LIBRARY_IMPL(samplenorm, CPU, library) {
  library.impl("sampled_batch_norm", cpu::forward);
  library.impl("sampled_batch_norm_backward", cpu::backward);
}

TORCH_LIBRARY_IMPL(samplenorm, CompositeExplicitAutograd, library) {
  library.impl("sampled_batch_norm", aten::forward);
  library.impl("sampled_batch_norm_backward", aten::backward);
}

TORCH_LIBRARY_IMPL(samplenorm, Meta, library) {
  library.impl("sampled_batch_norm", meta::forward);
  library.impl("sampled_batch_norm_backward", meta::backward);
}

}  // namespace samplenorm
