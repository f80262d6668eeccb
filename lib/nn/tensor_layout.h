#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/layout.h"

namespace samplenorm {

/// Whether a tensor of any number of dimensions is dense with its channels last. Where both orders are the same it
/// counts as contiguous.
bool lies_channels_last(const at::Tensor& tensor);

/// The tensor itself where it lies densely in this format, else a copy.
at::Tensor in_format(const at::Tensor& tensor, bool channels_last);

/// An uninitialized tensor, channels last where `like` is, else contiguous.
at::Tensor empty_dense_like(const at::Tensor& like);
/// The same of other sizes.
at::Tensor empty_dense_like(const at::Tensor& like, at::IntArrayRef sizes);

/// The layout of a dense tensor.
Layout layout_of(at::IntArrayRef sizes, bool channels_last);

/// Sizes of a mask for x: {rows, bytes of a row}, as kernels/arguments.h defines it.
std::vector<int64_t> mask_sizes(const at::Tensor& x);

}  // namespace samplenorm
