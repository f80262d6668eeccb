#pragma once

// What a kernel is given; the plain kernels (reference.h) and the fast ones (kernels.h) take the same.
//
// T is the activation type; per-channel values are of type Compute<T>, sums are double. Tensors are given as the
// address of their first element. Two layouts describe them: `in` that of x and dx, `out` that of y, dy, the residual
// and its gradient. Both have the same sizes and format; their strides differ where x is one of several inputs that are
// normalized as if concatenated along channels: y then is a range of channels of the whole output.
//
// A mask has a bit for each element, set where the activation's derivative is 1. An inner run of memory (the channels
// of a point, or the map of a channel) begins with a byte of its own: any part of the tensor can be worked on by
// itself.

#include <cstdint>
#include <span>

#include "core/float16.h"
#include "core/layout.h"
#include "kernels/activation.h"

namespace samplenorm {

/// Whether the channels of a point lie side by side (or there is but one point).
inline bool is_channels_last(const Layout& layout) { return layout.channel_stride == 1; }
/// From a point to the next of a channels-last tensor, rows being dense. A map of one point has no stride of its own.
inline int64_t point_step(const Layout& layout) {
  return layout.points() == 1 ? layout.row_stride : layout.point_stride;
}
/// Elements and number of the inner runs of a row.
inline int64_t run_elements(const Layout& layout) {
  return is_channels_last(layout) ? layout.channels : layout.points();
}
inline int64_t runs_in_row(const Layout& layout) {
  return is_channels_last(layout) ? layout.points() : layout.channels;
}
inline int64_t mask_run_bytes(const Layout& layout) { return (run_elements(layout) + 7) / 8; }
inline int64_t mask_row_bytes(const Layout& layout) { return runs_in_row(layout) * mask_run_bytes(layout); }

/// y = f(z), z = scale * x + shift (+ residual). y may be x or the residual itself: in place.
template <class T>
struct Apply {
  const T* x;
  const T* residual = nullptr;             ///< may be null
  const Compute<T>* scale;                 ///< gamma / sigma
  const Compute<T>* shift;                 ///< beta - scale * mu
  const Activation* activation = nullptr;  ///< f; null is the identity
  T* y;
  uint8_t* mask = nullptr;  ///< written if not null, which f has to be piecewise linear for
};

/// One pass over dy and x. With dy' = f'(z) dy, which is 0 where f'(z) is 0, whatever dy is:
///   D = sum dy', Q = sum dy' (x - centre)                      if the sums are not empty,
///   dx = scale * dy' (- (offset + slope * (x - centre)))       if dx is not null,
///   dresidual = dy'                                            if dresidual is not null.
/// With centre = mu, P = Q / sigma. dx may be dy or x itself: in place.
template <class T>
struct Backward {
  const T* dy;
  const T* x;
  const Compute<T>* centre;
  const Compute<T>* scale;
  const Activation* activation = nullptr;  ///< f; null is the identity
  /// z = scale * x + shift, as in apply(). May be null for the identity, with a mask, and for ReLU if x is y: then both
  /// sums and dx are asked for (the lean mode).
  const Compute<T>* shift = nullptr;
  const uint8_t* mask = nullptr;       ///< if not null it decides: f'(z) is 1 where a bit is set, elsewhere f's slope
  const Compute<T>* offset = nullptr;  ///< may be null together with slope
  const Compute<T>* slope = nullptr;
  T* dx = nullptr;
  T* dresidual = nullptr;      ///< goes with the mask: without it the residual's gradient is not asked for
  std::span<double> sum_dy;    ///< D, overwritten
  std::span<double> sum_dy_x;  ///< Q, overwritten
};

/// Points of a tensor by number, row * in.points() + place in the map: those that `numbers` lists, in any order, or,
/// where it is null, `count` points from `first` on. Numbers may count through more rows than are looked at.
struct Points {
  const int64_t* numbers = nullptr;
  int64_t first = 0;
  int64_t count = 0;

  int64_t operator[](int64_t i) const { return numbers ? numbers[i] : first + i; }
};

/// A copy of the sample, (points, channels): channels of a point side by side (channel_stride 1) for channels last,
/// points of a channel side by side (point_stride 1) for contiguous tensors. Where several inputs are normalized as if
/// concatenated, one copy has the channels of all, and `data` is the place of this input's first channel in it.
template <class T>
struct SampleCopy {
  T* data = nullptr;
  int64_t point_stride = 0;
  int64_t channel_stride = 0;

  T& at(int64_t point, int64_t channel) const { return data[point * point_stride + channel * channel_stride]; }
};

/// dx -= offset + slope * (x - group_mean) on the group's points.
template <class T>
struct Correct {
  SampleCopy<const T> sample;  ///< x of the points, as moments() copied it; without data `x` is read
  const Compute<T>* group_mean;
  const Compute<T>* offset;  ///< (w/s) (gamma/sigma) D
  const Compute<T>* slope;   ///< (w/s) (gamma/sigma^2) P
  T* dx;
  const T* x = nullptr;  ///< lies as dx does
};

}  // namespace samplenorm
