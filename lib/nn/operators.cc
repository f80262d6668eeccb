#include "nn/operators.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <torch/library.h>

#include <algorithm>

#include "nn/implementation.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace meta {

/// A tensor of symbolic sizes, as torch.compile has them for shapes that change, with the sizes that they stand for:
/// how many points a sample has is no formula of them, so that a graph holds for the sizes it was made with.
at::Tensor concrete(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return tensor;
  const auto numbers = [](c10::SymIntArrayRef symbols) {
    std::vector<int64_t> result;
    for (const c10::SymInt& symbol : symbols) result.push_back(symbol.guard_int(__FILE__, __LINE__));
    return result;
  };
  return at::empty_strided(numbers(tensor.sym_sizes()), numbers(tensor.sym_strides()), tensor.options());
}

OptionalTensor concrete(const OptionalTensor& tensor) { return tensor ? OptionalTensor(concrete(*tensor)) : tensor; }

std::vector<at::Tensor> concrete(at::TensorList tensors) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& tensor : tensors) result.push_back(concrete(tensor));
  return result;
}

SAMPLENORM_FORWARD(forward) {
  (void)key, (void)lean, (void)rank, (void)ranks;
  const std::vector<at::Tensor> inputs = concrete(x);
  const OptionalTensor gamma = concrete(weight), beta = concrete(bias), added = concrete(residual);
  const std::vector<int64_t> sizes = whole_sizes(inputs);
  const PlanSizes plan = plan_sizes(sizes, parse(spec), !group.empty());
  const ForwardArguments arguments{inputs, sizes, gamma, beta, added, eps, relu};
  check_forward(arguments);
  return allocate_outputs(arguments, plan).tuple();
}

SAMPLENORM_BACKWARD(backward) {
  (void)key, (void)relu, (void)rank, (void)ranks;
  const std::vector<at::Tensor> inputs = concrete(x);
  const std::vector<int64_t> sizes = whole_sizes(inputs);
  const at::Tensor gradient = concrete(dy), means = concrete(mean), rstds = concrete(rstd);
  const at::Tensor group_means = concrete(group_mean), copy = concrete(sampled_x);
  const OptionalTensor gamma = concrete(weight), beta = concrete(bias), bits = concrete(mask);
  const BackwardArguments arguments{gradient, inputs, sizes, gamma, beta, means, rstds, group_means, copy, bits, lean};
  check_backward(arguments, plan_sizes(sizes, parse(spec), !group.empty()));
  return allocate_gradients(arguments).tuple();
}

}  // namespace meta

namespace {

OptionalTensor if_defined(const at::Tensor& tensor) { return tensor.defined() ? OptionalTensor(tensor) : std::nullopt; }

}  // namespace

Normalized sampled_batch_norm(at::TensorList x, const at::Tensor& weight, const at::Tensor& bias,
                              const at::Tensor& residual, const std::string& spec, const at::Tensor& key, double eps,
                              bool relu, bool lean, const std::string& group, int64_t rank, int64_t ranks) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("samplenorm::sampled_batch_norm", "")
                             .typed<decltype(cpu::forward)>();
  auto [y, mean, rstd, unbiased_var, group_mean, sampled_x, mask] = op.call(
      x, if_defined(weight), if_defined(bias), if_defined(residual), spec, key, eps, relu, lean, group, rank, ranks);
  return {y, mean, rstd, unbiased_var, group_mean, sampled_x, mask};
}

at::Tensor key_tensor(at::IntArrayRef numbers) {
  at::Tensor key = at::detail::empty_cpu({std::ssize(numbers)}, at::kLong);
  std::ranges::copy(numbers, key.mutable_data_ptr<int64_t>());
  return key;
}

Gradients sampled_batch_norm_backward(const at::Tensor& dy, at::TensorList x, const at::Tensor& weight,
                                      const at::Tensor& bias, const Normalized& saved, const std::string& spec,
                                      const at::Tensor& key, bool relu, bool lean, const std::string& group,
                                      int64_t rank, int64_t ranks) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("samplenorm::sampled_batch_norm_backward", "")
                             .typed<decltype(cpu::backward)>();
  // A mask of one dimension is the empty one of a layer that needs none.
  const OptionalTensor mask = saved.mask.dim() == 2 ? OptionalTensor(saved.mask) : std::nullopt;
  auto [dx, dweight, dbias, dresidual] =
      op.call(dy, x, if_defined(weight), if_defined(bias), saved.mean, saved.rstd, saved.group_mean, saved.sampled_x,
              mask, spec, key, relu, lean, group, rank, ranks);
  return {std::move(dx), dweight, dbias, dresidual};
}

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def(
      "sampled_batch_norm(Tensor[] x, Tensor? weight, Tensor? bias, Tensor? residual, str spec, Tensor key, float eps, "
      "bool relu, bool lean=False, str group=\"\", int rank=0, int ranks=1) -> (Tensor y, Tensor mean, Tensor rstd, "
      "Tensor unbiased_var, Tensor "
      "group_mean, "
      "Tensor sampled_x, Tensor mask)");
  library.def(
      "sampled_batch_norm_backward(Tensor dy, Tensor[] x, Tensor? weight, Tensor? bias, Tensor mean, Tensor rstd, "
      "Tensor group_mean, Tensor sampled_x, Tensor? mask, str spec, Tensor key, bool relu, bool lean=False, "
      "str group=\"\", int rank=0, int ranks=1) -> "
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
