#pragma once

// The one sequence of the six steps, for all devices. With Sync, processes pool after moments() and after backward().

#include "nn/operators.h"
#include "nn/plan.h"
#include "nn/steps.h"

namespace samplenorm {

// The signatures of the registered operators.
#define SAMPLENORM_FORWARD(name)                                                                                      \
  Normalized::Tuple name(at::TensorList x, const OptionalTensor& weight, const OptionalTensor& bias,                  \
                         const OptionalTensor& residual, std::string_view spec, const at::Tensor& key, double eps,    \
                         std::string_view activation, bool lean, std::string_view group, int64_t rank, int64_t ranks, \
                         bool keep, const OptionalTensor& running_mean, const OptionalTensor& running_var,            \
                         const OptionalTensor& num_batches_tracked, std::optional<double> momentum,                   \
                         bool first_is_batch)
#define SAMPLENORM_BACKWARD(name)                                                                                    \
  Gradients::Tuple name(const at::Tensor& dy, at::TensorList x, const OptionalTensor& weight,                        \
                        const OptionalTensor& bias, const at::Tensor& statistics, const at::Tensor& sample,          \
                        const OptionalTensor& mask, std::string_view spec, const at::Tensor& key,                    \
                        std::string_view activation, bool lean, std::string_view group, int64_t rank, int64_t ranks, \
                        bool want_dx)

namespace driver {
/// The steps are registered_steps, or aten_steps.
template <const Steps& steps>
SAMPLENORM_FORWARD(forward);
template <const Steps& steps>
SAMPLENORM_BACKWARD(backward);
}  // namespace driver

/// backward's results as functions of dy, x, weight and bias that can be differentiated themselves. The mask is
/// forward's.
Gradients differentiable_gradients(const at::Tensor& dy, at::TensorList x, const OptionalTensor& weight,
                                   const OptionalTensor& bias, const at::Tensor& mask, const Plan& plan, double eps,
                                   std::string_view activation);

/// Results without values, for an empty tensor with zeros, from sizes that hold for every key.
Normalized empty_outputs(at::TensorList x, const PlanSizes& plan, bool keep, bool lean, bool has_mask);
Gradients empty_gradients(at::TensorList x, const Normalized& saved, bool want_dx);

/// Whether backward needs a mask from forward.
bool needs_mask(const OptionalTensor& residual, std::string_view activation);
/// Nothing for a missing, an undefined or an empty tensor of one dimension, as forward returns it in place of a mask.
OptionalTensor mask_of(const OptionalTensor& mask);

}  // namespace samplenorm
