#include "nn/tensor_layout.h"

#include <ATen/ATen.h>

#include "kernels/arguments.h"
#include "nn/checks.h"

namespace samplenorm {

bool lies_channels_last(const at::Tensor& tensor) {
  if (tensor.is_contiguous()) return false;
  // By hand: movedim(1, -1).is_contiguous() costs a tensor, and this is asked several times for every layer.
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  int64_t expected = 1;
  const auto fits = [&](size_t dim) {
    const bool right = sizes[dim] == 1 || strides[dim] == expected;
    expected *= sizes[dim];
    return right;
  };
  if (sizes.size() < 3 || !fits(1)) return false;
  for (size_t dim = sizes.size() - 1; dim > 1; --dim)
    if (!fits(dim)) return false;
  return fits(0);
}

bool backward_is_channels_last(at::TensorList x, const OptionalTensor& mask) {
  return mask ? mask->sizes() != mask_sizes(layout_of(whole_sizes(x), false)) : lies_channels_last(x[0]);
}

at::Tensor empty_in_format(at::IntArrayRef sizes, const at::TensorOptions& options, bool channels_last) {
  // Not at::empty_like: it goes by strides, and those of dimensions of size 1 are arbitrary.
  if (!channels_last) return at::empty(sizes, options);
  if (sizes.size() == 4) return at::empty(sizes, options, at::MemoryFormat::ChannelsLast);
  if (sizes.size() == 5) return at::empty(sizes, options, at::MemoryFormat::ChannelsLast3d);
  return at::empty({sizes[0], sizes[2], sizes[1]}, options).movedim(-1, 1);
}

at::Tensor in_format(const at::Tensor& tensor, bool channels_last) {
  const bool same_in_both = tensor.numel() == tensor.size(0) * tensor.size(1) || tensor.size(1) == 1;
  const bool fits = channels_last && !same_in_both ? lies_channels_last(tensor) : tensor.is_contiguous();
  return fits ? tensor : empty_in_format(tensor.sizes(), tensor.options(), channels_last).copy_(tensor);
}

Layout layout_of(at::IntArrayRef sizes, bool channels_last) {
  const size_t dims = sizes.size();
  const int64_t width = dims > 2 ? sizes.back() : 1;
  const int64_t height = dims > 3 ? sizes[dims - 2] : 1;
  const int64_t depth = dims > 4 ? sizes[dims - 3] : 1;
  return channels_last ? Layout::channels_last(sizes[0], sizes[1], depth, height, width)
                       : Layout::contiguous(sizes[0], sizes[1], depth, height, width);
}

at::Tensor empty_sample(int64_t room, const Layout& layout, const at::TensorOptions& options) {
  if (is_channels_last(layout)) return at::empty({room, layout.channels}, options);
  return at::empty({layout.channels, room}, options).t();
}

std::vector<int64_t> mask_sizes(const Layout& layout) {
  if (is_channels_last(layout)) return {layout.rows, mask_run_bytes(layout), layout.points()};
  return {layout.rows, layout.channels, mask_run_bytes(layout)};
}

at::Tensor empty_mask(const Layout& layout, const at::TensorOptions& options) {
  const at::Tensor bytes =
      at::empty({layout.rows, runs_in_row(layout), mask_run_bytes(layout)}, options.dtype(at::kByte));
  return is_channels_last(layout) ? bytes.transpose(1, 2) : bytes;
}

at::Tensor bytes_of_mask(const at::Tensor& mask, const Layout& layout) {
  return (is_channels_last(layout) ? mask.transpose(1, 2) : mask).contiguous();
}

Inputs::Inputs(at::TensorList tensors, bool channels_last) : whole(layout_of(whole_sizes(tensors), channels_last)) {
  int64_t first_channel = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    if (tensor.size(1) > 0)
      parts.push_back({in_format(tensor, channels_last), i, first_channel, layout_of(tensor.sizes(), channels_last)});
    first_channel += tensor.size(1);
  }
}

}  // namespace samplenorm
