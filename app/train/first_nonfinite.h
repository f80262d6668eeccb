#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <optional>
#include <string>

namespace samplenorm::train {

/// Runs `forward`, a forward pass of `model`, and tells where the first value appears that is not finite: the name of
/// the layer whose parameters were used last, and the operator. Nothing if all are finite.
std::optional<std::string> first_nonfinite(const torch::nn::Module& model, const std::function<void()>& forward);

/// The first of the model's parameters with a value that is not finite.
std::optional<std::string> first_nonfinite_parameter(const torch::nn::Module& model);

}  // namespace samplenorm::train
