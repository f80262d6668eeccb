#pragma once

// What the operators ask of their arguments. Everything throws c10::Error with the operator's name and what it got.

#include <ATen/core/DimVector.h>
#include <ATen/core/Tensor.h>

#include <string_view>

#include "nn/operators.h"
#include "nn/plan.h"
#include "samplenorm/communicator.h"

namespace samplenorm {

using at::DimVector;

/// Sizes of the inputs concatenated along channels; checks that they fit together.
DimVector whole_sizes(at::TensorList x);

void check_forward(at::TensorList x, at::IntArrayRef sizes, const OptionalTensor& weight, const OptionalTensor& bias,
                   const OptionalTensor& residual, std::string_view activation, const OptionalTensor& running_mean,
                   const OptionalTensor& running_var);

void check_backward(const at::Tensor& dy, at::TensorList x, at::IntArrayRef sizes, const Normalized& saved,
                    const PlanSizes& plan, std::string_view activation, bool lean);

/// A layer that was never told an epoch draws anew after so many steps.
inline constexpr int64_t kStepsOfADraw = 500;
/// The numbers in a key tensor {seed, layer, epoch, step}, and the process's rank among `ranks`. A negative epoch is
/// one that the layer was never told: it follows from the step.
Key key_of(const at::Tensor& key, int64_t rank, int64_t ranks);

/// The communicator with the name `group`, which must have this rank and ranks; null without a name.
std::shared_ptr<Communicator> communicator_of(std::string_view group, int64_t rank, int64_t ranks);

/// float32, or float64 for float64 activations.
at::ScalarType statistics_type(const at::Tensor& x);

}  // namespace samplenorm
