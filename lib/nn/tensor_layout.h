#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/layout.h"

namespace samplenorm {

/// Whether dense(tensor) lies channels last rather than contiguous. Where both orders are the same it counts as
/// contiguous.
bool lies_channels_last(const at::Tensor& tensor);

/// The tensor itself where it lies densely in memory, rows first, contiguous or channels last (of any number of
/// dimensions); else a contiguous copy.
at::Tensor dense(const at::Tensor& tensor);

/// `tensor` with the strides of `like`, which is dense: itself or a copy.
at::Tensor dense_like(const at::Tensor& tensor, const at::Tensor& like);

/// An uninitialized tensor with the memory format of dense(tensor).
at::Tensor empty_dense_like(const at::Tensor& tensor);

/// The layout of a dense tensor.
Layout layout_of(const at::Tensor& dense);

/// Sizes of a mask for x: {rows, bytes of a row}.
std::vector<int64_t> mask_sizes(const at::Tensor& x);

}  // namespace samplenorm
