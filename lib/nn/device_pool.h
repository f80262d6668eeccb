#pragma once

// Sync on the device of the activations: what processes exchange stays there, and nothing waits for it. For groups of
// torch.distributed that serve the device, through its functional collectives, one each way.

#include <ATen/core/Tensor.h>

#include <string_view>

namespace samplenorm {

/// The moments of all processes, each a block of its own.
at::Tensor gathered_moments(const at::Tensor& moments, std::string_view group, int64_t ranks);
/// The sums of all processes, added up.
at::Tensor reduced_sums(const at::Tensor& sums, std::string_view group);

}  // namespace samplenorm
