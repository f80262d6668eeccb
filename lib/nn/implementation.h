#pragma once

// What the implementations of the operators for the CPU, for other devices and for meta tensors have in common. Each of
// them defines forward and backward with these signatures, which are those of the registered operators.

#include <ATen/core/Tensor.h>

#include <string_view>

#include "nn/operators.h"
#include "nn/plan.h"
#include "samplenorm/communicator.h"

namespace samplenorm {

/// Sizes of the inputs concatenated along channels; checks that they fit together.
std::vector<int64_t> whole_sizes(at::TensorList x);

struct ForwardArguments {
  at::TensorList x;
  const std::vector<int64_t>& sizes;  ///< of all x together
  const OptionalTensor& weight;
  const OptionalTensor& bias;
  const OptionalTensor& residual;
  double eps;
  bool relu;

  /// Whether backward needs ReLU's mask from forward.
  bool needs_mask() const { return relu && residual.has_value() && residual->defined(); }
};

/// Throws c10::Error for dimensions, types and sizes that do not fit together.
void check_forward(const ForwardArguments& arguments);

struct BackwardArguments {
  const at::Tensor& dy;
  at::TensorList x;
  const std::vector<int64_t>& sizes;  ///< of all x together
  const OptionalTensor& weight;
  const OptionalTensor& bias;
  const at::Tensor& mean;
  const at::Tensor& rstd;
  const at::Tensor& group_mean;
  const at::Tensor& sampled_x;
  const OptionalTensor& mask;
  bool lean;
};
void check_backward(const BackwardArguments& arguments, const PlanSizes& plan);

/// The numbers in a key tensor {seed, layer, epoch, step}, and the process's rank among `ranks`.
KeyNumbers key_numbers(const at::Tensor& key, int64_t rank, int64_t ranks);

/// The communicator with the name `group`, which must have the key's rank and ranks; null without a name.
std::shared_ptr<Communicator> communicator_of(std::string_view group, const KeyNumbers& key);

/// float32, or float64 for float64 activations.
at::ScalarType statistics_type(const at::Tensor& x);

/// y, the mask, the copy of the sample and the statistics; not filled, but the statistics of an empty tensor are zero.
Normalized allocate_outputs(const ForwardArguments& arguments, const PlanSizes& plan);
/// The same; what is more than the plan's own copy of the sample is zero, so that equal arguments give equal results.
Normalized allocate_outputs(const ForwardArguments& arguments, const Plan& plan);

/// Gradients, not filled, but those of the parameters of an empty tensor are zero.
Gradients allocate_gradients(const BackwardArguments& arguments);

/// y = scale * x + shift with scale = weight * rstd and shift = bias - mean * scale, each (chunks, C) and contiguous.
struct Affine {
  at::Tensor scale;
  at::Tensor shift;
};
Affine affine(const OptionalTensor& weight, const OptionalTensor& bias, const at::Tensor& mean, const at::Tensor& rstd);

/// Undefined for a missing or undefined tensor.
inline at::Tensor value_or_undefined(const OptionalTensor& tensor) { return tensor.value_or(at::Tensor()); }

#define SAMPLENORM_FORWARD(name)                                                                                   \
  Normalized::Tuple name(at::TensorList x, const OptionalTensor& weight, const OptionalTensor& bias,               \
                         const OptionalTensor& residual, std::string_view spec, const at::Tensor& key, double eps, \
                         bool relu, bool lean, std::string_view group, int64_t rank, int64_t ranks)
#define SAMPLENORM_BACKWARD(name)                                                                                   \
  Gradients::Tuple name(const at::Tensor& dy, at::TensorList x, const OptionalTensor& weight,                       \
                        const OptionalTensor& bias, const at::Tensor& mean, const at::Tensor& rstd,                 \
                        const at::Tensor& group_mean, const at::Tensor& sampled_x, const OptionalTensor& mask,      \
                        std::string_view spec, const at::Tensor& key, bool relu, bool lean, std::string_view group, \
                        int64_t rank, int64_t ranks)

namespace cpu {
SAMPLENORM_FORWARD(forward);
SAMPLENORM_BACKWARD(backward);
}  // namespace cpu

namespace aten {
SAMPLENORM_FORWARD(forward);
SAMPLENORM_BACKWARD(backward);

struct DifferentiableGradients {
  at::Tensor x, weight, bias;
  at::Tensor residual;  ///< of no account where there is none
};
/// backward's results as functions of dy, x, weight and bias that can be differentiated themselves. The mask is
/// forward's.
DifferentiableGradients gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                  const at::Tensor& bias, const at::Tensor& mask, const Plan& plan, double eps,
                                  bool relu);
}  // namespace aten

}  // namespace samplenorm
