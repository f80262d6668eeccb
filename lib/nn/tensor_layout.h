#pragma once

// Tensors as the kernels see them.

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/layout.h"
#include "nn/operators.h"

namespace samplenorm {

/// Whether a tensor of any number of dimensions is dense with its channels last. Where both orders are the same it
/// counts as contiguous.
bool lies_channels_last(const at::Tensor& tensor);
/// The memory format that backward works in: the mask's where there is one, else that of the first x. Saved tensors may
/// come back in another than they had (torch.autograd.graph.saved_tensors_hooks).
bool backward_is_channels_last(at::TensorList x, const OptionalTensor& mask);

/// The tensor itself where it lies densely in this format, else a copy.
at::Tensor in_format(const at::Tensor& tensor, bool channels_last);
/// An uninitialized tensor in this format.
at::Tensor empty_in_format(at::IntArrayRef sizes, const at::TensorOptions& options, bool channels_last);
/// The layout of a dense tensor.
Layout layout_of(at::IntArrayRef sizes, bool channels_last);

/// An uninitialized copy of a sample, (room, C): the channels of a point side by side for channels last, else the
/// points of a channel. Strides alone tell the order, so it may come back in another.
at::Tensor empty_sample(int64_t room, const Layout& layout, const at::TensorOptions& options);

// A mask has a bit for each element of a tensor of N rows, C channels and S points a map, in the order of its memory
// (kernels/arguments.h). Its sizes tell the order: (N, C, bytes of S bits), or for channels last (N, bytes of C bits,
// S).
std::vector<int64_t> mask_sizes(const Layout& layout);
at::Tensor empty_mask(const Layout& layout, const at::TensorOptions& options);
/// The mask as its bytes lie in memory: (N, runs of a row, bytes of a run), itself or a copy.
at::Tensor bytes_of_mask(const at::Tensor& mask, const Layout& layout);

/// One or more tensors that count as concatenated along channels, all dense in one memory format.
struct Inputs {
  Inputs(at::TensorList tensors, bool channels_last);

  /// A tensor that has channels.
  struct Part {
    at::Tensor tensor;
    size_t index;           ///< in the list of tensors
    int64_t first_channel;  ///< in the whole
    Layout layout;
  };
  c10::SmallVector<Part, 1> parts;
  Layout whole;
};

}  // namespace samplenorm
