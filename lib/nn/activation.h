#pragma once

// Activations in libtorch's terms; their formulas are those of the kernels (kernels/activations/).

#include <ATen/core/Tensor.h>

#include <string_view>

#include "kernels/activation.h"

namespace samplenorm {

/// find_activation(), remembered. Throws c10::ValueError for an unknown one.
const Activation& activation_of(std::string_view name);

/// f(z) and f'(z), by ATen calls that can be differentiated.
at::Tensor activate(const at::Tensor& z, std::string_view activation);
at::Tensor derivative_at(const at::Tensor& z, std::string_view activation);

/// What follows a normalization that does not fuse it: the residual, if there is one, then the activation.
at::Tensor finish(at::Tensor y, const at::Tensor& residual, std::string_view activation);

}  // namespace samplenorm
