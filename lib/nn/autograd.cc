// The derivative of sampled_batch_norm. The first one is the one-pass kernel; where a second is asked for
// (create_graph), the first is built from ATen calls instead, which differentiate themselves.

#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>
#include <torch/torch.h>

#include "nn/implementation.h"

namespace samplenorm {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

/// Derived from Node itself: torch::autograd::Function wraps every argument, which costs small layers more than their
/// kernels do.
struct SampledBatchNormBackward : torch::autograd::Node {
  std::vector<SavedVariable> x;  ///< or y in the lean mode
  SavedVariable weight, bias, mean, rstd, group_mean, sampled_x, mask, key;
  std::string spec, group;
  int64_t rank = 0, ranks = 1;
  double eps = 0;
  bool relu = false, has_residual = false, lean = false;

  variable_list apply(variable_list&& gradients) override {
    const std::lock_guard lock(mutex_);
    const at::Tensor& dy = gradients[0];
    variable_list result(x.size() + 3);
    if (!dy.defined()) return result;
    variable_list inputs;
    for (const SavedVariable& saved : x) inputs.push_back(saved.unpack(lean ? self() : nullptr));
    const at::Tensor gamma = weight.unpack(), beta = bias.unpack();
    if (at::GradMode::is_enabled() && (dy.numel() > 0 || !group.empty())) {
      TORCH_CHECK_NOT_IMPLEMENTED(group.empty(),
                                  "samplenorm: expected statistics of one process where gradients are differentiated "
                                  "again, got those of the group ",
                                  group);
      TORCH_CHECK(!lean,
                  "samplenorm: the lean mode keeps no x for a second derivative; use lean(false) where gradients "
                  "are differentiated again");
      return second_order(dy, inputs, gamma, beta);
    }
    const Normalized saved{.y = {},
                           .mean = mean.unpack(),
                           .rstd = rstd.unpack(),
                           .unbiased_var = {},
                           .group_mean = group_mean.unpack(),
                           .sampled_x = sampled_x.unpack(),
                           .mask = mask.unpack()};
    Gradients found =
        sampled_batch_norm_backward(dy, inputs, gamma, beta, saved, spec, key.unpack(), relu, lean, group, rank, ranks);
    std::move(found.x.begin(), found.x.end(), result.begin());
    at::Tensor* behind = result.data() + x.size();
    if (gamma.defined()) behind[0] = found.weight.to(gamma.scalar_type());
    if (beta.defined()) behind[1] = found.bias.to(beta.scalar_type());
    if (has_residual) behind[2] = relu ? found.residual : dy;
    return result;
  }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    for (SavedVariable& saved : x) saved.reset_data();
    for (SavedVariable* saved : {&weight, &bias, &mean, &rstd, &group_mean, &sampled_x, &mask, &key})
      saved->reset_data();
  }

  std::string name() const override { return "SampledBatchNormBackward"; }

 private:
  c10::intrusive_ptr<Node> self() { return c10::intrusive_ptr<Node>::reclaim_copy(this); }

  variable_list second_order(const at::Tensor& dy, const variable_list& inputs, const at::Tensor& gamma,
                             const at::Tensor& beta) {
    const at::Tensor whole = inputs.size() == 1 ? inputs[0] : at::cat(inputs, 1);
    const auto plan = make_plan(whole.sizes(), spec, key_numbers(key.unpack(), rank, ranks), /*sync=*/false);
    const auto first = aten::gradients(dy, whole, gamma, beta, mask.unpack(), *plan, eps, relu);
    variable_list result;
    int64_t channel = 0;
    for (const at::Tensor& input : inputs) {
      result.push_back(first.x.narrow(1, channel, input.size(1)));
      channel += input.size(1);
    }
    result.push_back(gamma.defined() ? first.weight.to(gamma.scalar_type()) : at::Tensor());
    result.push_back(beta.defined() ? first.bias.to(beta.scalar_type()) : at::Tensor());
    result.push_back(has_residual ? first.residual : at::Tensor());
    return result;
  }
};

/// Where the rounding of y would cost more than a digit of xhat = (y - beta) / gamma, x is kept.
bool can_be_lean(const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& residual, const Normalized& out,
                 at::TensorList x) {
  const at::NoGradGuard no_gradients;
  constexpr double kMostOffset = 10;
  // Statistics of all points leave nothing in sampled_x, and need x everywhere.
  if (residual.defined() || x.size() != 1 || out.sampled_x.numel() == 0) return false;
  if (!weight.defined()) return !bias.defined() || (bias.abs() <= kMostOffset).all().item<bool>();
  const at::Tensor offset = bias.defined() ? bias.abs() : at::zeros_like(weight);
  return (weight.ne(0) & (offset <= kMostOffset * weight.abs())).all().item<bool>();
}

SAMPLENORM_FORWARD(differentiable) {
  const at::Tensor gamma = value_or_undefined(weight), beta = value_or_undefined(bias);
  const at::Tensor added = value_or_undefined(residual);
  const auto has_tangent = [](const at::Tensor& tensor) { return torch::autograd::isFwGradDefined(tensor); };
  TORCH_CHECK_NOT_IMPLEMENTED(
      std::none_of(x.begin(), x.end(), has_tangent) && !has_tangent(gamma) && !has_tangent(beta) && !has_tangent(added),
      "samplenorm::sampled_batch_norm: expected reverse-mode differentiation, got a forward-mode tangent");

  c10::intrusive_ptr<SampledBatchNormBackward> node;
  if (torch::autograd::compute_requires_grad(x, gamma, beta, added)) {
    node = c10::make_intrusive<SampledBatchNormBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(x, gamma, beta, added));
  }
  Normalized out;
  {
    at::AutoDispatchBelowADInplaceOrView below;
    out = sampled_batch_norm(x, gamma, beta, added, std::string(spec), key, eps, relu, lean, std::string(group), rank,
                             ranks);
  }
  if (!node) return out.tuple();
  torch::autograd::set_history(out.y, node);
  node->lean = lean && can_be_lean(gamma, beta, added, out, x);
  if (node->lean) {
    node->x.emplace_back(out.y, /*is_output=*/true);
  } else {
    for (const at::Tensor& input : x) node->x.emplace_back(input, /*is_output=*/false);
  }
  const auto save = [](SavedVariable& place, const at::Tensor& value) { place = SavedVariable(value, false); };
  save(node->weight, gamma);
  save(node->bias, beta);
  save(node->mean, out.mean);
  save(node->rstd, out.rstd);
  save(node->group_mean, out.group_mean);
  save(node->sampled_x, out.sampled_x);
  save(node->mask, out.mask);
  save(node->key, key);
  node->spec = spec;
  node->group = group;
  node->rank = rank;
  node->ranks = ranks;
  node->eps = eps;
  node->relu = relu;
  node->has_residual = added.defined();
  return out.tuple();
}

}  // namespace

TORCH_LIBRARY_IMPL(samplenorm, Autograd, library) {
  library.impl("sampled_batch_norm", differentiable);
  library.impl("sampled_batch_norm_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace samplenorm
