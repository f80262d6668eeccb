#pragma once

// Norms for models: all of make_norm()'s, and libtorch's own batch norm as a rival to measure against.

#include <memory>
#include <string>

#include "samplenorm/norm.h"

namespace samplenorm::models {

/// The name of torch::nn::BatchNorm2d, where a notation is asked for.
inline constexpr const char* kTorchBatchNorm = "torch";

/// make_norm(), and kTorchBatchNorm for inputs (N, C, H, W). Throws NotationError.
std::shared_ptr<Norm> norm_by_name(const std::string& name, int64_t channels, bool relu = false);

}  // namespace samplenorm::models
