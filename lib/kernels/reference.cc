// Compiled with -ffp-contract=off: backward must find the same sign of scale * x + shift as apply did, to the last bit.

#include "kernels/reference.h"

#include <algorithm>

#include "core/points.h"
#include "kernels/types.h"

namespace samplenorm::reference {
namespace {

/// Calls visit(offset, index) for each of the group's points with the offset of its channel 0 and its number.
template <class Visit>
void for_each_offset(const Layout& in, const Group& group, Visit visit) {
  int64_t index = 0;
  for_each_point(group, in.height, in.width,
                 [&](int64_t n, int64_t point) { visit(n * in.row_stride + point * in.point_stride, index++); });
}

/// Where element (channel c, point `index`) of a group is in the copy that gather() makes.
int64_t place_in_copy(const Layout& in, const Group& group, int64_t index, int64_t c) {
  return is_channels_last(in) ? index * in.channels + c : c * group.points() + index;
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

/// What ReLU lets pass. Written so that NaN passes, as in torch::relu.
template <class C>
bool passes(C value) {
  return !(value <= 0);
}

}  // namespace

template <class T>
void moments(const Layout& in, const T* x, const Group& group, Moments& out) {
  const auto points = static_cast<double>(group.points());
  out.count = points;
  std::ranges::fill(out.mean, 0);
  std::ranges::fill(out.m2, 0);
  const auto value = [&](int64_t base, size_t c) {
    return static_cast<double>(static_cast<Compute<T>>(x[base + static_cast<int64_t>(c) * in.channel_stride]));
  };
  for_each_offset(in, group, [&](int64_t base, int64_t) {
    for (size_t c = 0; c < out.mean.size(); ++c) out.mean[c] += value(base, c);
  });
  for (double& mean : out.mean) mean /= points;
  for_each_offset(in, group, [&](int64_t base, int64_t) {
    for (size_t c = 0; c < out.mean.size(); ++c) {
      const double deviation = value(base, c) - out.mean[c];
      out.m2[c] += deviation * deviation;
    }
  });
}

template <class T>
void gather(const Layout& in, const T* x, const Group& group, T* sampled_x) {
  for_each_offset(in, group, [&](int64_t base, int64_t index) {
    for (int64_t c = 0; c < in.channels; ++c)
      sampled_x[place_in_copy(in, group, index, c)] = x[base + c * in.channel_stride];
  });
}

template <class T>
void apply(const Layout& in, const Layout& out, const Apply<T>& args) {
  if (args.mask) std::fill_n(args.mask, in.rows * mask_row_bytes(in), uint8_t{0});
  for_each_element(in, out, [&](int64_t i, int64_t o, int64_t c, int64_t byte, int64_t bit) {
    Compute<T> y = args.scale[c] * static_cast<Compute<T>>(args.x[i]) + args.shift[c];
    if (args.residual) y += static_cast<Compute<T>>(args.residual[o]);
    if (args.mask) args.mask[byte] = static_cast<uint8_t>(args.mask[byte] | (passes(y) << bit));
    if (args.relu && !passes(y)) y = 0;
    args.y[o] = static_cast<T>(y);
  });
}

template <class T>
void backward(const Layout& in, const Layout& out, const Backward<T>& args) {
  std::ranges::fill(args.sum_dy, 0);
  std::ranges::fill(args.sum_dy_x, 0);
  for_each_element(in, out, [&](int64_t i, int64_t o, int64_t c, int64_t byte, int64_t bit) {
    const auto x = static_cast<Compute<T>>(args.x[i]);
    auto dy = static_cast<Compute<T>>(args.dy[o]);
    if (args.mask) {
      if (!(args.mask[byte] >> bit & 1)) dy = 0;
    } else if (args.relu && !passes(args.relu_shift ? args.scale[c] * x + args.relu_shift[c] : x)) {
      dy = 0;
    }
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
void correct(const Layout& in, const Group& group, const Correct<T>& args) {
  for_each_offset(in, group, [&](int64_t base, int64_t index) {
    for (int64_t c = 0; c < in.channels; ++c) {
      const auto x = static_cast<Compute<T>>(args.sampled_x[place_in_copy(in, group, index, c)]);
      const Compute<T> correction = args.offset[c] + args.slope[c] * (x - args.group_mean[c]);
      T& dx = args.dx[base + c * in.channel_stride];
      dx = static_cast<T>(static_cast<Compute<T>>(dx) - correction);
    }
  });
}

#define INSTANTIATE(T, name)                                                \
  template void moments(const Layout&, const T*, const Group&, Moments&);   \
  template void gather(const Layout&, const T*, const Group&, T*);          \
  template void apply(const Layout&, const Layout&, const Apply<T>&);       \
  template void backward(const Layout&, const Layout&, const Backward<T>&); \
  template void correct(const Layout&, const Group&, const Correct<T>&);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::reference
