#pragma once

// The plain kernels: the definition of what every kernel computes, written to be read. One layer is, in this order,
// moments (of each group), combine (core/moments.h), apply; then backward and correct (for each group).
//
// T is the activation type; per-channel values are of type Compute<T>, sums are double. Tensors are given as the
// address of their first element with one Layout for all of them. Nothing is allocated here.
//
// A mask has a bit for each element, set where ReLU lets the value pass. Each row of the tensor has its own
// mask_row_bytes(), so that any range of rows can be worked on by itself; bit i of a row is its i-th element in memory.

#include <cstdint>
#include <span>

#include "core/float16.h"
#include "core/layout.h"
#include "core/moments.h"
#include "samplenorm/sample.h"

namespace samplenorm::reference {

inline int64_t mask_row_bytes(const Layout& layout) { return (layout.row_elements() + 7) / 8; }

/// Count, mean and M2 of the group's points, per channel.
template <class T>
void moments(const Layout& layout, const T* x, const Group& group, Moments& out);

/// y = scale * x + shift (+ residual), then ReLU if asked for.
template <class T>
struct Apply {
  const T* x;
  const T* residual = nullptr;  ///< may be null
  const Compute<T>* scale;      ///< gamma / sigma
  const Compute<T>* shift;      ///< beta - scale * mu
  bool relu = false;
  T* y;
  uint8_t* mask = nullptr;  ///< written if not null
};
template <class T>
void apply(const Layout& layout, const Apply<T>& args);

/// One pass over dy and x: dx = scale * dy where ReLU let pass, and the sums D = sum dy, P = sum dy xhat over those
/// points.
template <class T>
struct Backward {
  const T* dy;
  const T* x;
  const Compute<T>* mean;
  const Compute<T>* rstd;  ///< 1 / sigma
  const Compute<T>* scale;
  const Compute<T>* shift;
  bool relu = false;
  const uint8_t* mask =
      nullptr;  ///< of apply(); without it ReLU's mask is found anew from x, by the expression of apply()
  T* dx;
  T* dresidual = nullptr;         ///< may be null
  std::span<double> sum_dy;       ///< D is added to it
  std::span<double> sum_dy_xhat;  ///< P is added to it
};
template <class T>
void backward(const Layout& layout, const Backward<T>& args);

/// dx -= offset + slope * (x - group_mean) on the group's points.
template <class T>
struct Correct {
  const T* x;
  const Compute<T>* group_mean;
  const Compute<T>* offset;  ///< (w/s) (gamma/sigma) D
  const Compute<T>* slope;   ///< (w/s) (gamma/sigma^2) P
  T* dx;
};
template <class T>
void correct(const Layout& layout, const Group& group, const Correct<T>& args);

}  // namespace samplenorm::reference
