#include "kernels/kernels.h"
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

template <class T>
void correct_maps(const Layout& in, std::span<const Run> runs, int64_t group_points, const Correct<T>& args,
                  int64_t first_channel, int64_t end_channel) {
  const hn::ScalableTag<Compute<T>> full;
  const hn::CappedTag<Compute<T>, 1> one;
  for (int64_t c = first_channel; c < end_channel; ++c) {
    for (const Run& run : runs) {
      T* dx = args.dx + run.row * in.row_stride + c * in.channel_stride + run.point;
      const T* x = args.sampled_x + c * group_points + run.first;
      const auto at = [&](auto d, int64_t i, int64_t place) HWY_ATTR {
        correct_at(d, x + i, dx + place, hn::Set(d, args.group_mean[c]), hn::Set(d, args.offset[c]),
                   hn::Set(d, args.slope[c]));
      };
      if (run.step == 1) {
        for_lanes(full, 0, run.count, [&](auto d, int64_t i) HWY_ATTR { at(d, i, i); });
      } else {
        for (int64_t i = 0; i < run.count; ++i) at(one, i, i * run.step);
      }
    }
  }
}

#define DEFINE(T, name)                                                                                         \
  void correct_points_##name(const Layout& in, std::span<const Run> runs, const Correct<T>& args) {             \
    correct_points(in, runs, args);                                                                             \
  }                                                                                                             \
  void correct_maps_##name(const Layout& in, std::span<const Run> runs, int64_t points, const Correct<T>& args, \
                           int64_t first_channel, int64_t end_channel) {                                        \
    correct_maps(in, runs, points, args, first_channel, end_channel);                                           \
  }
SAMPLENORM_FOR_EACH_TYPE(DEFINE)
#undef DEFINE

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace samplenorm::kernels {
namespace {

#define EXPORT(T, name)                                                                                      \
  HWY_EXPORT(correct_points_##name);                                                                         \
  HWY_EXPORT(correct_maps_##name);                                                                           \
  void run_points(const Layout& in, std::span<const Run> runs, const Correct<T>& args) {                     \
    HWY_DYNAMIC_DISPATCH(correct_points_##name)(in, runs, args);                                             \
  }                                                                                                          \
  void run_maps(const Layout& in, std::span<const Run> runs, int64_t points, const Correct<T>& args,         \
                int64_t first_channel, int64_t end_channel) {                                                \
    HWY_DYNAMIC_DISPATCH(correct_maps_##name)(in, runs, points, args, first_channel, end_channel);           \
  }
SAMPLENORM_FOR_EACH_TYPE(EXPORT)
#undef EXPORT

}  // namespace

template <class T>
void correct(const Layout& in, std::span<const Run> runs, const Correct<T>& args) {
  const int64_t points = runs.back().first + runs.back().count;
  const int64_t bytes = 3 * points * in.channels * static_cast<int64_t>(sizeof(T));
  if (is_channels_last(in)) {
    share(static_cast<int64_t>(runs.size()), bytes, [&](int64_t begin, int64_t end) {
      run_points(in, runs.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)), args);
    });
  } else {
    share(in.channels, bytes, [&](int64_t begin, int64_t end) { run_maps(in, runs, points, args, begin, end); });
  }
}

#define INSTANTIATE(T, name) template void correct(const Layout&, std::span<const Run>, const Correct<T>&);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::kernels
#endif
