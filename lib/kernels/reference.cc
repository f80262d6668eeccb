// Compiled with -ffp-contract=off: backward must find the same sign of scale * x + shift as apply did, to the last bit.

#include "kernels/reference.h"

#include <algorithm>

#include "kernels/types.h"

namespace samplenorm::reference {
namespace {

/// Where channel 0 of a point is.
int64_t offset_of(const Layout& in, int64_t number) {
  return number / in.points() * in.row_stride + number % in.points() * in.point_stride;
}

/// Calls visit(element of x, element of y, channel, mask byte, bit) for every element in the order of memory.
template <class Visit>
void for_each_element(const Layout& in, const Layout& out, Visit visit) {
  const bool channels_last = is_channels_last(in);
  int64_t run = 0;
  for (int64_t n = 0; n < in.rows; ++n)
    for (int64_t i = 0; i < runs_in_row(in); ++i, ++run)
      for (int64_t j = 0; j < run_elements(in); ++j) {
        const int64_t c = channels_last ? j : i, s = channels_last ? i : j;
        visit(n * in.row_stride + c * in.channel_stride + s * in.point_stride,
              n * out.row_stride + c * out.channel_stride + s * out.point_stride, c, run * mask_run_bytes(in) + j / 8,
              j % 8);
      }
}

/// f(z) and f'(z).
template <class C>
C value(const Activation* f, C z) {
  if (!f) return z;
  return static_cast<C>(f->plain_value(static_cast<double>(z), static_cast<double>(static_cast<C>(f->parameter))));
}
template <class C>
C derivative(const Activation* f, C z) {
  if (!f) return 1;
  return static_cast<C>(f->plain_derivative(static_cast<double>(z), static_cast<double>(static_cast<C>(f->parameter))));
}

}  // namespace

template <class T>
void moments(const Layout& in, const T* x, Points points, Moments& out) {
  out.count = static_cast<double>(points.count);
  for (size_t c = 0; c < out.mean.size(); ++c) {
    const auto value = [&](int64_t i) {
      const T element = x[offset_of(in, points[i]) + static_cast<int64_t>(c) * in.channel_stride];
      return static_cast<double>(static_cast<Compute<T>>(element));
    };
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < points.count; ++i) sum += value(i);
    const double mean = sum / out.count;
    for (int64_t i = 0; i < points.count; ++i) squares += (value(i) - mean) * (value(i) - mean);
    out.mean[c] = mean;
    out.m2[c] = squares;
  }
}

template <class T>
void gather(const Layout& in, const T* x, Points points, SampleCopy<T> copy) {
  for (int64_t i = 0; i < points.count; ++i)
    for (int64_t c = 0; c < in.channels; ++c) copy.at(i, c) = x[offset_of(in, points[i]) + c * in.channel_stride];
}

template <class T>
void apply(const Layout& in, const Layout& out, const Apply<T>& args) {
  if (args.mask) std::fill_n(args.mask, in.rows * mask_row_bytes(in), uint8_t{0});
  for_each_element(in, out, [&](int64_t i, int64_t o, int64_t c, int64_t byte, int64_t bit) {
    Compute<T> z = args.scale[c] * static_cast<Compute<T>>(args.x[i]) + args.shift[c];
    if (args.residual) z += static_cast<Compute<T>>(args.residual[o]);
    if (args.mask)
      args.mask[byte] = static_cast<uint8_t>(args.mask[byte] | ((derivative(args.activation, z) == 1) << bit));
    args.y[o] = static_cast<T>(value(args.activation, z));
  });
}

template <class T>
void backward(const Layout& in, const Layout& out, const Backward<T>& args) {
  std::ranges::fill(args.sum_dy, 0);
  std::ranges::fill(args.sum_dy_x, 0);
  for_each_element(in, out, [&](int64_t i, int64_t o, int64_t c, int64_t byte, int64_t bit) {
    const auto x = static_cast<Compute<T>>(args.x[i]);
    auto dy = static_cast<Compute<T>>(args.dy[o]);
    Compute<T> factor = 1;
    if (args.mask) {
      const double slope = args.activation ? args.activation->slope : 0;
      if (!(args.mask[byte] >> bit & 1)) factor = static_cast<Compute<T>>(slope);
    } else {
      factor = derivative(args.activation, args.shift ? args.scale[c] * x + args.shift[c] : x);
    }
    dy = factor == 0 ? 0 : factor * dy;
    const Compute<T> deviation = x - args.centre[c];
    if (args.dx) {
      Compute<T> dx = args.scale[c] * dy;
      if (args.offset) dx -= args.offset[c] + args.slope[c] * deviation;
      args.dx[i] = static_cast<T>(dx);
    }
    if (args.dresidual) args.dresidual[o] = static_cast<T>(dy);
    if (!args.sum_dy.empty()) {
      args.sum_dy[static_cast<size_t>(c)] += static_cast<double>(dy);
      args.sum_dy_x[static_cast<size_t>(c)] += static_cast<double>(dy) * static_cast<double>(deviation);
    }
  });
}

template <class T>
void correct(const Layout& in, Points points, const Correct<T>& args) {
  for (int64_t i = 0; i < points.count; ++i)
    for (int64_t c = 0; c < in.channels; ++c) {
      const int64_t place = offset_of(in, points[i]) + c * in.channel_stride;
      const auto x = static_cast<Compute<T>>(args.sample.data ? args.sample.at(i, c) : args.x[place]);
      const Compute<T> correction = args.offset[c] + args.slope[c] * (x - args.group_mean[c]);
      T& dx = args.dx[place];
      dx = static_cast<T>(static_cast<Compute<T>>(dx) - correction);
    }
}

#define INSTANTIATE(T, name)                                                \
  template void moments(const Layout&, const T*, Points, Moments&);         \
  template void gather(const Layout&, const T*, Points, SampleCopy<T>);     \
  template void apply(const Layout&, const Layout&, const Apply<T>&);       \
  template void backward(const Layout&, const Layout&, const Backward<T>&); \
  template void correct(const Layout&, Points, const Correct<T>&);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::reference
