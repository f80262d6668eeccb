#pragma once

#include <ATen/core/Tensor.h>

#include "core/layout.h"

namespace samplenorm {

/// One or more tensors as the kernels see them: dense, all in one memory format, each a range of the channels of the
/// whole.
class Inputs {
 public:
  Inputs(at::TensorList tensors, at::IntArrayRef whole_sizes, bool channels_last);

  /// Of a tensor that has channels.
  struct Part {
    at::Tensor tensor;
    size_t index;  ///< in the list of tensors
    int64_t first_channel;
    Layout layout;
  };
  const c10::SmallVector<Part, 1>& parts() const { return parts_; }
  /// The layout of a tensor of the whole's sizes, and of a part's channels in it.
  const Layout& whole() const { return whole_; }
  Layout within_whole(const Part& part) const;
  /// The tensor, which has the whole's sizes, in the whole's layout: itself or a copy.
  at::Tensor dense_like_whole(const at::Tensor& tensor) const;

 private:
  c10::SmallVector<Part, 1> parts_;
  Layout whole_;
};

}  // namespace samplenorm
