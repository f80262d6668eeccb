#include "kernels/kernels.h"
#include "kernels/offsets.h"
#include "kernels/parallel.h"
#include "kernels/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/correct.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

using kernels::are_neighbours;
using kernels::kNeighbours;

template <class D, class T>
HWY_INLINE void correct_at(D d, const T* x, T* dx, hn::Vec<D> mean, hn::Vec<D> offset, hn::Vec<D> slope) {
  const auto correction = hn::MulAdd(slope, hn::Sub(load(d, x), mean), offset);
  store<Store::kCached>(d, hn::Sub(load(d, dx), correction), dx);
}

template <class T>
void correct_points(const Layout& in, Points points, const Correct<T>& args, int64_t begin, int64_t end) {
  const hn::ScalableTag<Compute<T>> full;
  // The points lie apart: their lines are asked for ahead.
  const int64_t ahead = HWY_MAX(1, 8192 / (in.channels * static_cast<int64_t>(sizeof(T))));
  for (int64_t i = begin; i < end; ++i) {
    if (i + ahead < end) {
      const int64_t later = points[i + ahead] * point_step(in);
      for (int64_t c = 0; c < in.channels; c += kLineElements<T>) {
        hwy::Prefetch(args.dx + later + c);
        if (args.x) hwy::Prefetch(args.x + later + c);
      }
    }
    const int64_t place = points[i] * point_step(in);
    T* dx = args.dx + place;
    const T* x = args.sample.data ? &args.sample.at(i, 0) : args.x + place;
    for_lanes(full, 0, in.channels, [&](auto d, int64_t c) HWY_ATTR {
      correct_at(d, x + c, dx + c, hn::LoadU(d, args.group_mean + c), hn::LoadU(d, args.offset + c),
                 hn::LoadU(d, args.slope + c));
    });
  }
}

/// kChannels channels of a contiguous tensor. The points may lie far apart: their lines are asked for ahead.
template <int kChannels, class T>
HWY_INLINE void correct_channels(const Layout& in, std::span<const int64_t> offsets, const Correct<T>& args,
                                 int64_t first) {
  constexpr size_t kAhead = 64 / kChannels;
  const hn::CappedTag<Compute<T>, 1> one;
  const hn::CappedTag<Compute<T>, kNeighbours> several;
  const size_t count = offsets.size();
  const auto place = [&](int c, int64_t offset) HWY_ATTR { return (first + c) * in.channel_stride + offset; };
  const auto correct_elements = [&](auto d, int c, size_t i) HWY_ATTR {
    const int64_t at = place(c, offsets[i]);
    const T* x = args.sample.data ? &args.sample.at(static_cast<int64_t>(i), first + c) : args.x + at;
    correct_at(d, x, args.dx + at, hn::Set(d, args.group_mean[first + c]), hn::Set(d, args.offset[first + c]),
               hn::Set(d, args.slope[first + c]));
  };
  const auto correct_point = [&](size_t i) HWY_ATTR {
    const int64_t ahead = offsets[HWY_MIN(i + kAhead, count - 1)];
    for (int c = 0; c < kChannels; ++c) {
      hwy::Prefetch(args.dx + place(c, ahead));
      if (args.x) hwy::Prefetch(args.x + place(c, ahead));
      correct_elements(one, c, i);
    }
  };
  size_t i = 0;
  for (; i + kNeighbours <= count; i += kNeighbours) {
    if (are_neighbours(offsets.data() + i)) {
      for (int c = 0; c < kChannels; ++c)
        for (size_t j = 0; j < kNeighbours; j += hn::MaxLanes(several)) correct_elements(several, c, i + j);
    } else {
      for (size_t j = 0; j < kNeighbours; ++j) correct_point(i + j);
    }
  }
  for (; i < count; ++i) correct_point(i);
}

template <class T>
void correct_maps(const Layout& in, std::span<const int64_t> offsets, const Correct<T>& args, int64_t first_channel,
                  int64_t end_channel) {
  constexpr int kTogether = 8;  // neighbouring channels share pages of memory
  int64_t c = first_channel;
  for (; c + kTogether <= end_channel; c += kTogether) correct_channels<kTogether>(in, offsets, args, c);
  for (; c < end_channel; ++c) correct_channels<1>(in, offsets, args, c);
}

#define DEFINE(T, name)                                                                                             \
  void correct_points_##name(const Layout& in, Points points, const Correct<T>& args, int64_t begin, int64_t end) { \
    correct_points(in, points, args, begin, end);                                                                   \
  }                                                                                                                 \
  void correct_maps_##name(const Layout& in, std::span<const int64_t> offsets, const Correct<T>& args,              \
                           int64_t first_channel, int64_t end_channel) {                                            \
    correct_maps(in, offsets, args, first_channel, end_channel);                                                    \
  }
SAMPLENORM_FOR_EACH_TYPE(DEFINE)
#undef DEFINE

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace samplenorm::kernels {
namespace {

#define EXPORT(T, name)                                                                                            \
  HWY_EXPORT(correct_points_##name);                                                                               \
  HWY_EXPORT(correct_maps_##name);                                                                                 \
  void run_points(const Layout& in, Points points, const Correct<T>& args, int64_t begin, int64_t end) {           \
    HWY_DYNAMIC_DISPATCH(correct_points_##name)(in, points, args, begin, end);                                     \
  }                                                                                                                \
  void run_maps(const Layout& in, std::span<const int64_t> offsets, const Correct<T>& args, int64_t first_channel, \
                int64_t end_channel) {                                                                             \
    HWY_DYNAMIC_DISPATCH(correct_maps_##name)(in, offsets, args, first_channel, end_channel);                      \
  }
SAMPLENORM_FOR_EACH_TYPE(EXPORT)
#undef EXPORT

}  // namespace

template <class T>
void correct(const Layout& in, Points points, const Correct<T>& args, Workspace workspace) {
  const int64_t values = points.count * in.channels;
  if (is_channels_last(in)) {
    share(points.count, 3 * values * static_cast<int64_t>(sizeof(T)),
          [&](int64_t begin, int64_t end) { run_points(in, points, args, begin, end); });
  } else {
    const auto offsets = offsets_of(in, points, workspace.offsets);
    share(in.channels, values * kLine, [&](int64_t begin, int64_t end) { run_maps(in, offsets, args, begin, end); });
  }
}

#define INSTANTIATE(T, name) template void correct(const Layout&, Points, const Correct<T>&, Workspace);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::kernels
#endif
