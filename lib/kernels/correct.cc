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

template <class D, class T>
HWY_INLINE void correct_at(D d, const T* x, T* dx, hn::Vec<D> mean, hn::Vec<D> offset, hn::Vec<D> slope) {
  const auto correction = hn::MulAdd(slope, hn::Sub(load(d, x), mean), offset);
  store<Store::kCached>(d, hn::Sub(load(d, dx), correction), dx);
}

template <class T>
void correct_points(const Layout& in, std::span<const Run> runs, const Correct<T>& args) {
  const hn::ScalableTag<Compute<T>> full;
  for (const Run& run : runs) {
    for (int64_t i = 0; i < run.count; ++i) {
      T* dx = args.dx + (run.row * in.points() + run.point + i * run.step) * point_step(in);
      const T* x = args.sampled_x + (run.first + i) * in.channels;
      for_lanes(full, 0, in.channels, [&](auto d, int64_t c) HWY_ATTR {
        correct_at(d, x + c, dx + c, hn::LoadU(d, args.group_mean + c), hn::LoadU(d, args.offset + c),
                   hn::LoadU(d, args.slope + c));
      });
    }
  }
}

/// kChannels channels of a contiguous tensor. The points lie far apart: their lines are asked for ahead.
template <int kChannels, class T>
HWY_INLINE void correct_channels(const Layout& in, std::span<const int64_t> offsets, const Correct<T>& args,
                                 int64_t first) {
  constexpr size_t kAhead = 64 / kChannels;
  const hn::CappedTag<Compute<T>, 1> one;
  const size_t count = offsets.size();
  T* dx = args.dx + first * in.channel_stride;
  const T* x = args.sampled_x + first * static_cast<int64_t>(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t here = offsets[i], ahead = offsets[HWY_MIN(i + kAhead, count - 1)];
    for (int c = 0; c < kChannels; ++c) {
      hwy::Prefetch(dx + c * in.channel_stride + ahead);
      correct_at(one, x + static_cast<size_t>(c) * count + i, dx + c * in.channel_stride + here,
                 hn::Set(one, args.group_mean[first + c]), hn::Set(one, args.offset[first + c]),
                 hn::Set(one, args.slope[first + c]));
    }
  }
}

template <class T>
void correct_maps(const Layout& in, std::span<const int64_t> offsets, const Correct<T>& args, int64_t first_channel,
                  int64_t end_channel) {
  constexpr int kTogether = 8;  // neighbouring channels share pages of memory
  int64_t c = first_channel;
  for (; c + kTogether <= end_channel; c += kTogether) correct_channels<kTogether>(in, offsets, args, c);
  for (; c < end_channel; ++c) correct_channels<1>(in, offsets, args, c);
}

#define DEFINE(T, name)                                                                                \
  void correct_points_##name(const Layout& in, std::span<const Run> runs, const Correct<T>& args) {    \
    correct_points(in, runs, args);                                                                    \
  }                                                                                                    \
  void correct_maps_##name(const Layout& in, std::span<const int64_t> offsets, const Correct<T>& args, \
                           int64_t first_channel, int64_t end_channel) {                               \
    correct_maps(in, offsets, args, first_channel, end_channel);                                       \
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
  void run_points(const Layout& in, std::span<const Run> runs, const Correct<T>& args) {                           \
    HWY_DYNAMIC_DISPATCH(correct_points_##name)(in, runs, args);                                                   \
  }                                                                                                                \
  void run_maps(const Layout& in, std::span<const int64_t> offsets, const Correct<T>& args, int64_t first_channel, \
                int64_t end_channel) {                                                                             \
    HWY_DYNAMIC_DISPATCH(correct_maps_##name)(in, offsets, args, first_channel, end_channel);                      \
  }
SAMPLENORM_FOR_EACH_TYPE(EXPORT)
#undef EXPORT

}  // namespace

template <class T>
void correct(const Layout& in, std::span<const Run> runs, const Correct<T>& args, Workspace workspace) {
  const int64_t values = points_in(runs) * in.channels;
  if (is_channels_last(in)) {
    share(static_cast<int64_t>(runs.size()), 3 * values * static_cast<int64_t>(sizeof(T)),
          [&](int64_t begin, int64_t end) {
            run_points(in, runs.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)), args);
          });
  } else {
    const auto offsets = offsets_of(in, runs, workspace.offsets);
    share(in.channels, values * kLine, [&](int64_t begin, int64_t end) { run_maps(in, offsets, args, begin, end); });
  }
}

#define INSTANTIATE(T, name) template void correct(const Layout&, std::span<const Run>, const Correct<T>&, Workspace);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::kernels
#endif
