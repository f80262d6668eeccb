// The derivative of sampled_batch_norm. Where a second derivative is asked for (create_graph), the first is built from
// the ATen steps, which differentiate themselves.

#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>
#include <torch/torch.h>

#include "nn/activation.h"
#include "nn/checks.h"
#include "nn/driver.h"

namespace samplenorm {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

/// Derived from Node itself: torch::autograd::Function wraps every argument, which costs small layers more than their
/// kernels do. Gradients are those of the inputs, then of weight, bias and residual.
struct SampledBatchNormBackward : torch::autograd::Node {
  std::vector<SavedVariable> x;  ///< or y in the lean mode
  SavedVariable weight, bias, statistics, sample, mask, key;
  std::string spec, activation, group;
  int64_t rank = 0, ranks = 1;
  double eps = 0;
  bool has_residual = false, lean = false;

  variable_list apply(variable_list&& gradients) override {
    const std::lock_guard lock(mutex_);
    const at::Tensor& dy = gradients[0];
    const size_t inputs = x.size();
    if (!dy.defined()) return variable_list(inputs + 3);
    variable_list values;
    for (const SavedVariable& saved : x) values.push_back(saved.unpack(lean ? self() : nullptr));
    const at::Tensor gamma = weight.unpack(), beta = bias.unpack(), bits = mask.unpack();
    const bool has_mask = bits.dim() != 1;
    Gradients found;
    if (at::GradMode::is_enabled() && (dy.numel() > 0 || !group.empty())) {
      found = differentiable(dy, values, gamma, beta, bits);
    } else {
      bool want_dx = has_mask && task_should_compute_output(inputs + 2);
      for (size_t i = 0; i < inputs; ++i) want_dx |= task_should_compute_output(i);
      found = sampled_batch_norm_backward(dy, values, gamma, beta, {{}, statistics.unpack(), sample.unpack(), bits},
                                          spec, key.unpack(), activation, lean, group, rank, ranks, want_dx);
    }
    variable_list result = std::move(found.x);
    result.resize(inputs);
    result.push_back(gamma.defined() ? found.weight.to(gamma.scalar_type()) : at::Tensor());
    result.push_back(beta.defined() ? found.bias.to(beta.scalar_type()) : at::Tensor());
    result.push_back(!has_residual ? at::Tensor() : has_mask ? found.residual : dy);
    return result;
  }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    for (SavedVariable& saved : x) saved.reset_data();
    for (SavedVariable* saved : {&weight, &bias, &statistics, &sample, &mask, &key}) saved->reset_data();
  }

  std::string name() const override { return "SampledBatchNormBackward"; }

 private:
  c10::intrusive_ptr<Node> self() { return c10::intrusive_ptr<Node>::reclaim_copy(this); }

  Gradients differentiable(const at::Tensor& dy, at::TensorList inputs, const at::Tensor& gamma, const at::Tensor& beta,
                           const at::Tensor& bits) const {
    TORCH_CHECK_NOT_IMPLEMENTED(group.empty(),
                                "samplenorm: expected statistics of one process where gradients are differentiated "
                                "again, got those of the group ",
                                group);
    TORCH_CHECK(!lean,
                "samplenorm: the lean mode keeps no x for a second derivative; use lean(false) where gradients are "
                "differentiated again");
    const auto plan = find_plan(whole_sizes(inputs), spec, key_of(key.unpack(), rank, ranks), /*sync=*/false);
    return differentiable_gradients(dy, inputs, if_defined(gamma), if_defined(beta), bits, *plan, eps, activation);
  }
};

/// Where the rounding of y would cost more than a digit of xhat = (y - beta) / gamma, x is kept. So it is on other
/// devices, where looking at the parameters would mean to wait.
bool can_be_lean(const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& residual, const Normalized& out,
                 at::TensorList x, std::string_view activation) {
  const at::NoGradGuard no_gradients;
  constexpr double kMostOffset = 10;
  // Statistics of all points leave no sample, and need x everywhere.
  if (residual.defined() || x.size() != 1 || out.sample.numel() == 0 || !x[0].is_cpu()) return false;
  if (activation_of(activation).kind == Activation::Kind::kOther) return false;
  if (!weight.defined()) return !bias.defined() || (bias.abs() <= kMostOffset).all().item<bool>();
  const at::Tensor offset = bias.defined() ? bias.abs() : at::zeros_like(weight);
  return (weight.ne(0) & (offset <= kMostOffset * weight.abs())).all().item<bool>();
}

SAMPLENORM_FORWARD(differentiable) {
  const at::Tensor gamma = weight.value_or(at::Tensor()), beta = bias.value_or(at::Tensor());
  const at::Tensor added = residual.value_or(at::Tensor());
  const auto has_tangent = [](const at::Tensor& tensor) { return torch::autograd::isFwGradDefined(tensor); };
  TORCH_CHECK_NOT_IMPLEMENTED(
      std::none_of(x.begin(), x.end(), has_tangent) && !has_tangent(gamma) && !has_tangent(beta) && !has_tangent(added),
      "samplenorm::sampled_batch_norm: expected reverse-mode differentiation, got a forward-mode tangent");

  c10::intrusive_ptr<SampledBatchNormBackward> node;
  if (torch::autograd::compute_requires_grad(x, gamma, beta, added)) {
    node = c10::make_intrusive<SampledBatchNormBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(x, gamma, beta, added));
    node->spec = spec;
    node->activation = activation;
    node->group = group;
  }
  Normalized out;
  {
    at::AutoDispatchBelowADInplaceOrView below;
    out = sampled_batch_norm(x, gamma, beta, added, std::string(spec), key, eps, std::string(activation), lean,
                             std::string(group), rank, ranks, keep || node != nullptr,
                             {running_mean, running_var, num_batches_tracked, momentum, first_is_batch});
  }
  if (!node) return out.tuple();
  torch::autograd::set_history(out.y, node);
  node->lean = lean && can_be_lean(gamma, beta, added, out, x, activation);
  if (node->lean) {
    node->x.emplace_back(out.y, /*is_output=*/true);
  } else {
    for (const at::Tensor& input : x) node->x.emplace_back(input, /*is_output=*/false);
  }
  const auto save = [](SavedVariable& place, const at::Tensor& value) { place = SavedVariable(value, false); };
  save(node->weight, gamma);
  save(node->bias, beta);
  save(node->statistics, out.statistics);
  save(node->sample, lean && !node->lean ? at::empty({0, out.sample.size(1)}, out.sample.options()) : out.sample);
  save(node->mask, out.mask);
  save(node->key, key);
  node->rank = rank;
  node->ranks = ranks;
  node->eps = eps;
  node->has_residual = added.defined();
  return out.tuple();
}

}  // namespace

TORCH_LIBRARY_IMPL(samplenorm, Autograd, library) {
  library.impl("sampled_batch_norm", differentiable);
  library.impl("sampled_batch_norm_backward", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace samplenorm
