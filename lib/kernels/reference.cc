// Compiled with -ffp-contract=off: backward must find the same sign of scale * x + shift as apply did, to the last bit.

#include "kernels/reference.h"

#include <algorithm>

#include "core/points.h"
#include "kernels/types.h"

namespace samplenorm::reference {
namespace {

/// Calls visit(offset) with the offset of channel 0 of each of the group's points.
template <class Visit>
void for_each_offset(const Layout& layout, const Group& group, Visit visit) {
  for_each_point(group, layout.height, layout.width,
                 [&](int64_t n, int64_t point) { visit(n * layout.row_stride + point * layout.point_stride); });
}

/// Calls visit(element, channel, mask byte, bit) for every element in the order of memory.
template <class Visit>
void for_each_element(const Layout& layout, Visit visit) {
  const bool channels_last = layout.channel_stride == 1;
  const int64_t outer = channels_last ? layout.points() : layout.channels;
  const int64_t inner = channels_last ? layout.channels : layout.points();
  for (int64_t n = 0; n < layout.rows; ++n) {
    int64_t in_row = 0;
    for (int64_t i = 0; i < outer; ++i)
      for (int64_t j = 0; j < inner; ++j, ++in_row)
        visit(n * layout.row_stride + in_row, channels_last ? j : i, n * mask_row_bytes(layout) + in_row / 8,
              in_row % 8);
  }
}

/// What ReLU lets pass. Written so that NaN passes, as in torch::relu.
template <class C>
bool passes(C value) {
  return !(value <= 0);
}

}  // namespace

template <class T>
void moments(const Layout& layout, const T* x, const Group& group, Moments& out) {
  const auto points = static_cast<double>(group.points());
  out.count = points;
  std::ranges::fill(out.mean, 0);
  std::ranges::fill(out.m2, 0);
  const auto value = [&](int64_t base, size_t c) {
    return static_cast<double>(static_cast<Compute<T>>(x[base + static_cast<int64_t>(c) * layout.channel_stride]));
  };
  for_each_offset(layout, group, [&](int64_t base) {
    for (size_t c = 0; c < out.mean.size(); ++c) out.mean[c] += value(base, c);
  });
  for (double& mean : out.mean) mean /= points;
  for_each_offset(layout, group, [&](int64_t base) {
    for (size_t c = 0; c < out.mean.size(); ++c) {
      const double deviation = value(base, c) - out.mean[c];
      out.m2[c] += deviation * deviation;
    }
  });
}

template <class T>
void apply(const Layout& layout, const Apply<T>& args) {
  if (args.mask) std::fill_n(args.mask, layout.rows * mask_row_bytes(layout), uint8_t{0});
  for_each_element(layout, [&](int64_t i, int64_t c, int64_t byte, int64_t bit) {
    Compute<T> y = args.scale[c] * static_cast<Compute<T>>(args.x[i]) + args.shift[c];
    if (args.residual) y += static_cast<Compute<T>>(args.residual[i]);
    if (args.mask) args.mask[byte] = static_cast<uint8_t>(args.mask[byte] | (passes(y) << bit));
    if (args.relu && !passes(y)) y = 0;
    args.y[i] = static_cast<T>(y);
  });
}

template <class T>
void backward(const Layout& layout, const Backward<T>& args) {
  for_each_element(layout, [&](int64_t i, int64_t c, int64_t byte, int64_t bit) {
    const auto x = static_cast<Compute<T>>(args.x[i]);
    auto dy = static_cast<Compute<T>>(args.dy[i]);
    if (args.mask) {
      if (!(args.mask[byte] >> bit & 1)) dy = 0;
    } else if (args.relu && !passes(args.scale[c] * x + args.shift[c])) {
      dy = 0;
    }
    args.dx[i] = static_cast<T>(args.scale[c] * dy);
    if (args.dresidual) args.dresidual[i] = static_cast<T>(dy);
    args.sum_dy[static_cast<size_t>(c)] += dy;
    args.sum_dy_xhat[static_cast<size_t>(c)] += dy * ((x - args.mean[c]) * args.rstd[c]);
  });
}

template <class T>
void correct(const Layout& layout, const Group& group, const Correct<T>& args) {
  for_each_offset(layout, group, [&](int64_t base) {
    for (int64_t c = 0; c < layout.channels; ++c) {
      const int64_t i = base + c * layout.channel_stride;
      const Compute<T> deviation = static_cast<Compute<T>>(args.x[i]) - args.group_mean[c];
      const Compute<T> correction = args.offset[c] + args.slope[c] * deviation;
      args.dx[i] = static_cast<T>(static_cast<Compute<T>>(args.dx[i]) - correction);
    }
  });
}

#define INSTANTIATE(T, name)                                              \
  template void moments(const Layout&, const T*, const Group&, Moments&); \
  template void apply(const Layout&, const Apply<T>&);                    \
  template void backward(const Layout&, const Backward<T>&);              \
  template void correct(const Layout&, const Group&, const Correct<T>&);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::reference
