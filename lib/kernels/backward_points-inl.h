// Backward of points of a channels-last tensor. Included once for each instruction set.

#if defined(SAMPLENORM_KERNELS_BACKWARD_POINTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SAMPLENORM_KERNELS_BACKWARD_POINTS_INL_H_
#undef SAMPLENORM_KERNELS_BACKWARD_POINTS_INL_H_
#else
#define SAMPLENORM_KERNELS_BACKWARD_POINTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/backward_expression-inl.h"
#include "kernels/backward_part.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

using kernels::kPointsToDouble;
using kernels::Part;

constexpr int64_t kChannelsAtOnce = 1024;
/// Sums in Compute<T> of up to kChannelsAtOnce channels.
template <class C>
struct NearSums {
  HWY_ALIGN C dy[kChannelsAtOnce];
  HWY_ALIGN C dy_x[kChannelsAtOnce];

  HWY_INLINE void clear(int64_t count) {
    std::fill(dy, dy + count, C{0});
    std::fill(dy_x, dy_x + count, C{0});
  }
  HWY_INLINE void add_to(const Part& part, int64_t first, int64_t last) const {
    for (int64_t c = first; c < last; ++c) {
      part.sum_dy[c] += static_cast<double>(dy[c - first]);
      part.sum_dy_x[c] += static_cast<double>(dy_x[c - first]);
    }
  }
};

/// Where the points of a channels-last tensor are.
template <class T>
struct Points {
  BackwardRun<T> first;
  int64_t in_step, out_step, mask_bytes;

  HWY_INLINE BackwardRun<T> at(int64_t p) const {
    return {first.dy + p * out_step, first.x + p * in_step, first.dx + p * in_step, first.dresidual + p * out_step,
            first.mask + p * mask_bytes};
  }
};

// Not lambdas, and forced inline: sums must stay in registers.

/// Channels c and on, as many as kVectors of D have, of kPoints points from p on.
template <Store kStore, class E, int kVectors, int kPoints, class D, class C>
HWY_INLINE void backward_columns(D d, const ChannelValues<C>& values, const typename E::Run* runs, int64_t c,
                                 C* near_dy, C* near_dy_x) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr int64_t kSecond = kVectors == 2 ? kLanes : 0;
  const auto left = E::coefficients(d, values, [&](const C* of) HWY_ATTR { return hn::LoadU(d, of + c); });
  const auto right = E::coefficients(d, values, [&](const C* of) HWY_ATTR { return hn::LoadU(d, of + c + kSecond); });
  auto dy0 = hn::LoadU(d, near_dy), dy1 = hn::LoadU(d, near_dy + kSecond);
  auto dy_x0 = hn::LoadU(d, near_dy_x), dy_x1 = hn::LoadU(d, near_dy_x + kSecond);
  for (int r = 0; r < kPoints; ++r) {
    if constexpr (kVectors == 2) {
      E::template two<kStore>(d, runs[r], c, left, right, dy0, dy_x0, dy1, dy_x1);
    } else {
      E::template one<kStore>(d, runs[r], c, left, dy0, dy_x0);
    }
  }
  if constexpr (E::kSums) {
    hn::StoreU(dy0, d, near_dy);
    hn::StoreU(dy_x0, d, near_dy_x);
    if constexpr (kVectors == 2) {
      hn::StoreU(dy1, d, near_dy + kLanes);
      hn::StoreU(dy_x1, d, near_dy_x + kLanes);
    }
  }
}

/// kPoints points from p on, all channels from `first` on.
template <Store kStore, class E, int kPoints, class C, class Points>
HWY_INLINE void backward_rows(const ChannelValues<C>& values, const Points& points, int64_t p, int64_t first,
                              int64_t last, NearSums<C>& near) {
  const hn::ScalableTag<C> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  typename E::Run runs[kPoints];
  for (int r = 0; r < kPoints; ++r) runs[r] = points.at(p + r);
  int64_t c = first;
  for (; c + 2 * kLanes <= last; c += 2 * kLanes)
    backward_columns<kStore, E, 2, kPoints>(full, values, runs, c, near.dy + (c - first), near.dy_x + (c - first));
  for_lanes<kStore>(full, c, last, [&](auto d, int64_t i) HWY_ATTR {
    backward_columns<kStore, E, 1, kPoints>(d, values, runs, i, near.dy + (i - first), near.dy_x + (i - first));
  });
}

/// All points of [begin, end), whose two vectors of channels keep their sums in registers.
template <Store kStore, class E, class T>
HWY_INLINE void backward_two_vectors(const ChannelValues<Compute<T>>& values, const Points<T>& points, int64_t begin,
                                     int64_t end, NearSums<Compute<T>>& near) {
  using C = Compute<T>;
  const hn::ScalableTag<C> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const auto left = E::coefficients(full, values, [&](const C* of) HWY_ATTR { return hn::LoadU(full, of); });
  const auto right = E::coefficients(full, values, [&](const C* of) HWY_ATTR { return hn::LoadU(full, of + kLanes); });
  auto dy0 = hn::Zero(full), dy1 = dy0, dy_x0 = dy0, dy_x1 = dy0;
  for (int64_t p = begin; p < end; ++p) {
    const BackwardRun<T> run = points.at(p);
    E::template two<kStore>(full, run, 0, left, right, dy0, dy_x0, dy1, dy_x1);
  }
  if constexpr (E::kSums) {
    hn::StoreU(dy0, full, near.dy);
    hn::StoreU(dy1, full, near.dy + kLanes);
    hn::StoreU(dy_x0, full, near.dy_x);
    hn::StoreU(dy_x1, full, near.dy_x + kLanes);
  }
}

/// Points of a channels-last tensor.
template <Store kStore, class E, class T>
void backward_points(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  using C = Compute<T>;
  const hn::ScalableTag<C> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const ChannelValues<C> values(args);
  const Points<T> points{
      {args.dy, args.x, args.dx, args.dresidual, args.mask}, point_step(in), point_step(out), mask_run_bytes(in)};
  const bool by_four = four_points_at_once<T, kStore>(full, in.channels);
  NearSums<C> near;
  for (int64_t first = 0; first < in.channels; first += kChannelsAtOnce) {
    const int64_t last = HWY_MIN(first + kChannelsAtOnce, in.channels);
    if constexpr (E::kSums) part.clear_sums(first, last);
    for (int64_t tile = part.begin; tile < part.end; tile += kPointsToDouble) {
      const int64_t tile_end = HWY_MIN(tile + kPointsToDouble, part.end);
      if constexpr (E::kSums) near.clear(last - first);
      if (in.channels == 2 * kLanes) {
        backward_two_vectors<kStore, E>(values, points, tile, tile_end, near);
      } else {
        int64_t p = tile;
        if (by_four)
          for (; p + 4 <= tile_end; p += 4) backward_rows<kStore, E, 4>(values, points, p, first, last, near);
        for (; p < tile_end; ++p) backward_rows<kStore, E, 1>(values, points, p, first, last, near);
      }
      if constexpr (E::kSums) near.add_to(part, first, last);
    }
  }
}

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
