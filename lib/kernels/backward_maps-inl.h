// Backward of maps of a contiguous tensor. Included once for each instruction set.

#if defined(SAMPLENORM_KERNELS_BACKWARD_MAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SAMPLENORM_KERNELS_BACKWARD_MAPS_INL_H_
#undef SAMPLENORM_KERNELS_BACKWARD_MAPS_INL_H_
#else
#define SAMPLENORM_KERNELS_BACKWARD_MAPS_INL_H_
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

/// Sums of one map's channel, spread over lanes.
template <class V>
struct LaneSums {
  V dy, dy_x;
};

/// Elements [begin, end) of a map. `overlap`: the last vector may cover elements once more that are finished.
template <Store kStore, class E, class D, class T>
HWY_INLINE void backward_map(D full, const ChannelValues<Compute<T>>& values, const InnerRun<T>& run, int64_t begin,
                             int64_t end, int64_t c, bool overlap, LaneSums<hn::Vec<D>>& sums) {
  using C = Compute<T>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const auto coefficients = [&]<class Part>(Part d) HWY_ATTR {
    return E::coefficients(d, values, [&](const C* of) HWY_ATTR { return hn::Set(d, of[c]); });
  };
  const auto of = coefficients(full);
  auto dy1 = hn::Zero(full), dy_x1 = hn::Zero(full);
  int64_t i = begin;
  for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
    E::template two<kStore>(full, run, i, of, of, sums.dy, sums.dy_x, dy1, dy_x1);
  }
  if (i + kLanes <= end) {
    E::template one<kStore>(full, run, i, of, sums.dy, sums.dy_x);
    i += kLanes;
  }
  sums.dy = hn::Add(sums.dy, dy1);
  sums.dy_x = hn::Add(sums.dy_x, dy_x1);
  if (kStore == Store::kStreamed || i == end) return;
  if (overlap && end - begin >= kLanes) {
    auto dy = hn::Zero(full), dy_x = hn::Zero(full);
    E::template one<kStore>(full, run, end - kLanes, of, dy, dy_x);
    const auto finished = hn::FirstN(full, static_cast<size_t>(kLanes - (end - i)));
    sums.dy = hn::Add(sums.dy, hn::IfThenZeroElse(finished, dy));
    sums.dy_x = hn::Add(sums.dy_x, hn::IfThenZeroElse(finished, dy_x));
    return;
  }
  C dy{0}, dy_x{0};
  for_lanes<kStore>(full, i, end, [&]<class Part>(Part d, int64_t j) HWY_ATTR {
    auto part_dy = hn::Zero(d), part_dy_x = hn::Zero(d);
    E::template one<kStore>(d, run, j, coefficients(d), part_dy, part_dy_x);
    if constexpr (E::kSums) {
      dy += hn::GetLane(hn::SumOfLanes(d, part_dy));
      dy_x += hn::GetLane(hn::SumOfLanes(d, part_dy_x));
    }
  });
  sums.dy = hn::Add(sums.dy, hn::InsertLane(hn::Zero(full), 0, dy));
  sums.dy_x = hn::Add(sums.dy_x, hn::InsertLane(hn::Zero(full), 0, dy_x));
}

/// What of a piece of a map is not whole lines. Not inline: it stands twice below, and compilers are slow enough.
template <class E, class D, class T>
HWY_NOINLINE LaneSums<hn::Vec<D>> backward_rest(D full, const ChannelValues<Compute<T>>& values, const InnerRun<T>& run,
                                                int64_t begin, int64_t end, int64_t c, bool overlap) {
  LaneSums<hn::Vec<D>> sums{hn::Zero(full), hn::Zero(full)};
  backward_map<Store::kCached, E>(full, values, run, begin, end, c, overlap, sums);
  return sums;
}

/// A piece of a map; streaming takes its whole lines only.
template <Store kStore, class E, class D, class T>
HWY_INLINE void backward_piece(D full, const ChannelValues<Compute<T>>& values, const InnerRun<T>& run, int64_t begin,
                               int64_t end, int64_t c, bool overlap, LaneSums<hn::Vec<D>>& sums) {
  if constexpr (kStore == Store::kStreamed) {
    const Lines lines = whole_lines(run.dx + begin, end - begin);
    const auto head = backward_rest<E>(full, values, run, begin, begin + lines.begin, c, overlap);
    backward_map<kStore, E>(full, values, run, begin + lines.begin, begin + lines.end, c, overlap, sums);
    const auto tail = backward_rest<E>(full, values, run, begin + lines.end, end, c, overlap);
    sums = {hn::Add(sums.dy, hn::Add(head.dy, tail.dy)), hn::Add(sums.dy_x, hn::Add(head.dy_x, tail.dy_x))};
  } else {
    backward_map<kStore, E>(full, values, run, begin, end, c, overlap, sums);
  }
}

/// Maps of a contiguous tensor. Each channel's sums stay spread over the lanes for as many rows as float allows.
template <Store kStore, class E, class T>
void backward_maps(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  using C = Compute<T>;
  const hn::ScalableTag<C> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  constexpr int64_t kMapsAtOnce = 128;
  constexpr int64_t kPiece = kPointsToDouble * kLanes;
  const ChannelValues<C> values(args);
  const bool overlap = args.dx != args.dy && args.dx != args.x;
  const int64_t points = in.points(), mask_bytes = mask_run_bytes(in);
  const int64_t rows_at_once = HWY_MAX(1, kPiece / points);
  HWY_ALIGN C near_dy[kMapsAtOnce * kLanes];
  HWY_ALIGN C near_dy_x[kMapsAtOnce * kLanes];
  for (int64_t first = part.first_channel; first < part.end_channel; first += kMapsAtOnce) {
    const int64_t last = HWY_MIN(first + kMapsAtOnce, part.end_channel);
    if constexpr (E::kSums) {
      std::fill(part.sum_dy + first, part.sum_dy + last, 0.0);
      std::fill(part.sum_dy_x + first, part.sum_dy_x + last, 0.0);
    }
    for (int64_t row = part.begin; row < part.end; row += rows_at_once) {
      const int64_t end_row = HWY_MIN(row + rows_at_once, part.end);
      for (int64_t n = row; n < end_row; ++n) {
        const int64_t i = n * in.row_stride, o = n * out.row_stride;
        for (int64_t c = first; c < last; ++c) {
          const InnerRun<T> run{args.dy + o + c * points, args.x + i + c * points, args.dx + i + c * points,
                                args.dresidual + o + c * points, args.mask + (n * in.channels + c) * mask_bytes};
          C* dy = near_dy + (c - first) * kLanes;
          C* dy_x = near_dy_x + (c - first) * kLanes;
          LaneSums<hn::Vec<decltype(full)>> sums{hn::Zero(full), hn::Zero(full)};
          if (n > row) sums = {hn::Load(full, dy), hn::Load(full, dy_x)};
          for (int64_t begin = 0; begin < points; begin += kPiece) {
            if (begin > 0) {
              if constexpr (E::kSums) {
                part.sum_dy[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(full, sums.dy)));
                part.sum_dy_x[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(full, sums.dy_x)));
              }
              sums = {hn::Zero(full), hn::Zero(full)};
            }
            backward_piece<kStore, E>(full, values, run, begin, HWY_MIN(begin + kPiece, points), c, overlap, sums);
          }
          hn::Store(sums.dy, full, dy);
          hn::Store(sums.dy_x, full, dy_x);
        }
      }
      if constexpr (E::kSums) {
        for (int64_t c = first; c < last; ++c) {
          const auto dy = hn::Load(full, near_dy + (c - first) * kLanes);
          const auto dy_x = hn::Load(full, near_dy_x + (c - first) * kLanes);
          part.sum_dy[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(full, dy)));
          part.sum_dy_x[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(full, dy_x)));
        }
      }
    }
  }
}

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
