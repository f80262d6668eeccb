#include "nn/tensor_layout.h"

#include <ATen/ATen.h>

namespace samplenorm {

bool lies_channels_last(const at::Tensor& tensor) {
  return !tensor.is_contiguous() && tensor.movedim(1, -1).is_contiguous();
}

at::Tensor dense(const at::Tensor& tensor) { return lies_channels_last(tensor) ? tensor : tensor.contiguous(); }

at::Tensor empty_dense_like(const at::Tensor& tensor) {
  // Not at::empty_like: it goes by strides, and those of dimensions of size 1 are arbitrary.
  if (!lies_channels_last(tensor)) return at::empty(tensor.sizes(), tensor.options());
  return at::empty(tensor.movedim(1, -1).sizes(), tensor.options()).movedim(-1, 1);
}

at::Tensor dense_like(const at::Tensor& tensor, const at::Tensor& like) {
  const bool fits = lies_channels_last(like) ? tensor.movedim(1, -1).is_contiguous() : tensor.is_contiguous();
  return fits ? tensor : empty_dense_like(like).copy_(tensor);
}

Layout layout_of(const at::Tensor& dense) {
  const auto sizes = dense.sizes();
  const int64_t dims = dense.dim();
  const int64_t width = dims > 2 ? sizes.back() : 1;
  const int64_t height = dims > 3 ? dense.size(dims - 2) : 1;
  const int64_t depth = dims > 4 ? dense.size(dims - 3) : 1;
  return lies_channels_last(dense) ? Layout::channels_last(sizes[0], sizes[1], depth, height, width)
                                   : Layout::contiguous(sizes[0], sizes[1], depth, height, width);
}

std::vector<int64_t> mask_sizes(const at::Tensor& x) {
  const int64_t rows = x.size(0);
  const int64_t row_elements = rows == 0 ? 0 : x.numel() / rows;
  return {rows, (row_elements + 7) / 8};
}

}  // namespace samplenorm
