#include "nn/inputs.h"

#include "kernels/arguments.h"
#include "nn/tensor_layout.h"

namespace samplenorm {

Inputs::Inputs(at::TensorList tensors, at::IntArrayRef whole_sizes, bool channels_last)
    : whole_(layout_of(whole_sizes, channels_last)) {
  int64_t first_channel = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    if (tensor.size(1) > 0)
      parts_.push_back({in_format(tensor, channels_last), i, first_channel, layout_of(tensor.sizes(), channels_last)});
    first_channel += tensor.size(1);
  }
}

Layout Inputs::within_whole(const Part& part) const {
  Layout layout = whole_;
  layout.channels = part.layout.channels;
  return layout;
}

at::Tensor Inputs::dense_like_whole(const at::Tensor& tensor) const {
  return in_format(tensor, is_channels_last(whole_) && whole_.points() > 1);
}

}  // namespace samplenorm
