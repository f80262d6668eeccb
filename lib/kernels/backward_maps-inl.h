// Backward of maps of a contiguous tensor. Included once for each instruction set.

#if defined(SAMPLENORM_KERNELS_BACKWARD_MAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SAMPLENORM_KERNELS_BACKWARD_MAPS_INL_H_
#undef SAMPLENORM_KERNELS_BACKWARD_MAPS_INL_H_
#else
#define SAMPLENORM_KERNELS_BACKWARD_MAPS_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

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

template <class V>
HWY_INLINE void add(LaneSums<V>& sums, const LaneSums<V>& more) {
  sums.dy = hn::Add(sums.dy, more.dy);
  sums.dy_x = hn::Add(sums.dy_x, more.dy_x);
}

/// Adds them to the part's sums of channel c.
template <class D>
HWY_INLINE void add_lanes(D d, const LaneSums<hn::Vec<D>>& sums, const Part& part, int64_t c) {
  part.sum_dy[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sums.dy)));
  part.sum_dy_x[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sums.dy_x)));
}

/// What belongs to channel c, in all lanes.
template <class E, class D, class C>
HWY_INLINE Coefficients<D> spread(D d, const ChannelValues<C>& values, int64_t c) {
  return E::coefficients(d, values, [&](const C* of) HWY_ATTR { return hn::Set(d, of[c]); });
}

/// Whole vectors of elements [begin, end) of a map. Returns where the rest begins.
template <Store kStore, class E, class D>
HWY_INLINE int64_t backward_vectors(D full, const Coefficients<D>& of, const typename E::Run& run, int64_t begin,
                                    int64_t end, LaneSums<hn::Vec<D>>& sums) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  LaneSums<hn::Vec<D>> second{hn::Zero(full), hn::Zero(full)};
  int64_t i = begin;
  for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
    E::template two<kStore>(full, run, i, of, of, sums.dy, sums.dy_x, second.dy, second.dy_x);
  }
  if (i + kLanes <= end) {
    E::template one<kStore>(full, run, i, of, sums.dy, sums.dy_x);
    i += kLanes;
  }
  add(sums, second);
  return i;
}

/// Elements [begin, end) of a map. `overlap`: the last vector may cover elements once more that are finished.
template <class E, class D>
HWY_INLINE void backward_elements(D full, const ChannelValues<hn::TFromD<D>>& values, const typename E::Run& run,
                                  int64_t begin, int64_t end, int64_t c, bool overlap, LaneSums<hn::Vec<D>>& sums) {
  using C = hn::TFromD<D>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const auto of = spread<E>(full, values, c);
  const int64_t i = backward_vectors<Store::kCached, E>(full, of, run, begin, end, sums);
  if (i == end) return;
  if (overlap && end - begin >= kLanes) {
    auto dy = hn::Zero(full), dy_x = hn::Zero(full);
    E::template one<Store::kCached>(full, run, end - kLanes, of, dy, dy_x);
    const auto finished = hn::FirstN(full, static_cast<size_t>(kLanes - (end - i)));
    add(sums, {hn::IfThenZeroElse(finished, dy), hn::IfThenZeroElse(finished, dy_x)});
    return;
  }
  C dy{0}, dy_x{0};
  for_lanes(full, i, end, [&]<class Few>(Few d, int64_t j) HWY_ATTR {
    auto few_dy = hn::Zero(d), few_dy_x = hn::Zero(d);
    E::template one<Store::kCached>(d, run, j, spread<E>(d, values, c), few_dy, few_dy_x);
    if constexpr (E::kSums) {
      dy += hn::GetLane(hn::SumOfLanes(d, few_dy));
      dy_x += hn::GetLane(hn::SumOfLanes(d, few_dy_x));
    }
  });
  add(sums, {hn::InsertLane(hn::Zero(full), 0, dy), hn::InsertLane(hn::Zero(full), 0, dy_x)});
}

/// A line of memory whose first elements are the last ones of a map, and the others the first ones of the next.
template <class T>
struct Seam {
  BackwardRun<T> line;
  int64_t ending;         ///< elements of the map that ends
  int64_t before, after;  ///< the channels of the two
};

template <class V>
struct SeamSums {
  LaneSums<V> before, after;
};

/// A seam at once, so that its line can be streamed whole.
template <Store kStore, class E, class D, class T>
HWY_NOINLINE SeamSums<hn::Vec<D>> backward_seam(D full, const ChannelValues<Compute<T>>& values, const Seam<T>& seam) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const auto before = spread<E>(full, values, seam.before), after = spread<E>(full, values, seam.after);
  const auto zero = hn::Zero(full);
  SeamSums<hn::Vec<D>> sums{{zero, zero}, {zero, zero}};
  for (int64_t i = 0; i < kLineElements<T>; i += kLanes) {
    const int64_t ending = HWY_MIN(HWY_MAX(seam.ending - i, 0), kLanes);
    const auto is_before = hn::FirstN(full, static_cast<size_t>(ending));
    const Coefficients<D> of{hn::IfThenElse(is_before, before.centre, after.centre),
                             hn::IfThenElse(is_before, before.scale, after.scale),
                             hn::IfThenElse(is_before, before.threshold, after.threshold),
                             hn::IfThenElse(is_before, before.offset, after.offset),
                             hn::IfThenElse(is_before, before.slope, after.slope),
                             before.limit};
    auto dy = zero, dy_x = zero;
    E::template one<kStore>(full, seam.line, i, of, dy, dy_x);
    add(sums.before, {hn::IfThenElseZero(is_before, dy), hn::IfThenElseZero(is_before, dy_x)});
    add(sums.after, {hn::IfThenZeroElse(is_before, dy), hn::IfThenZeroElse(is_before, dy_x)});
  }
  return sums;
}

/// The seam where `run` ends and the map `next` begins.
template <class E, class D, class T>
HWY_INLINE SeamSums<hn::Vec<D>> backward_shared_line(D full, const ChannelValues<Compute<T>>& values,
                                                     const BackwardRun<T>& run, const BackwardRun<T>& next,
                                                     int64_t begin, int64_t ending, int64_t c) {
  Seam<T> seam{{run.dy + begin, run.x + begin, run.dx + begin, run.dresidual + begin, nullptr}, ending, c, c + 1};
  uint8_t bits[kMaskBytesOfLine] = {};
  if constexpr (E::kMasked) {
    for (int64_t i = 0; i < kLineElements<T>; ++i)
      set_bit(bits, i, i < ending ? get_bit(run.mask, begin + i) : get_bit(next.mask, i - ending));
    seam.line.mask = bits;
  }
  return backward_seam<Store::kStreamed, E>(full, values, seam);
}

/// `count` elements from `begin` on of a map that shares their line, in which they begin at `place`, with a map of
/// another part. Their sums are in the same lanes as those of a seam.
template <class E, class D, class T>
HWY_NOINLINE SeamSums<hn::Vec<D>> backward_edge(D full, const ChannelValues<Compute<T>>& values,
                                                const BackwardRun<T>& run, int64_t begin, int64_t count, int64_t place,
                                                int64_t c) {
  T dy[kLineElements<T>] = {}, x[kLineElements<T>] = {}, dx[kLineElements<T>], dresidual[kLineElements<T>];
  uint8_t bits[kMaskBytesOfLine] = {};
  for (int64_t i = 0; i < count; ++i) {
    dy[place + i] = run.dy[begin + i];
    x[place + i] = run.x[begin + i];
    if constexpr (E::kMasked) set_bit(bits, place + i, get_bit(run.mask, begin + i));
  }
  const int64_t ending = place == 0 ? count : place;
  const Seam<T> seam{{dy, x, dx, dresidual, bits}, ending, c, c};
  const auto sums = backward_seam<Store::kCached, E>(full, values, seam);
  for (int64_t i = 0; i < count; ++i) {
    run.dx[begin + i] = dx[place + i];
    if constexpr (E::kResidual) run.dresidual[begin + i] = dresidual[place + i];
  }
  return sums;
}

/// Maps of a contiguous tensor. Each channel's sums stay spread over the lanes for as many rows as float allows.
template <Store kStore, class E, class T>
void backward_maps(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  using C = Compute<T>;
  const hn::ScalableTag<C> full;
  using Sums = LaneSums<hn::Vec<decltype(full)>>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  constexpr int64_t kMapsAtOnce = 128;
  constexpr int64_t kPiece = kPointsToDouble * kLanes;
  const ChannelValues<C> values(args);
  const bool overlap = args.dx != args.dy && args.dx != args.x;
  const int64_t points = in.points(), mask_bytes = mask_run_bytes(in);
  const int64_t rows_at_once = HWY_MAX(1, kPiece / points);
  HWY_ALIGN C near_dy[kMapsAtOnce * kLanes];
  HWY_ALIGN C near_dy_x[kMapsAtOnce * kLanes];

  const auto run_of = [&](int64_t n, int64_t c) HWY_ATTR {
    const int64_t i = n * in.row_stride + c * points, o = n * out.row_stride + c * points;
    return BackwardRun<T>{args.dy + o, args.x + i, args.dx + i, args.dresidual + o,
                          args.mask + (n * in.channels + c) * mask_bytes};
  };
  const auto to_double = [&](const Sums& sums, int64_t c) HWY_ATTR {
    if constexpr (E::kSums) add_lanes(full, sums, part, c);
  };
  const Sums nothing{hn::Zero(full), hn::Zero(full)};

  for (int64_t first = part.first_channel; first < part.end_channel; first += kMapsAtOnce) {
    const int64_t last = HWY_MIN(first + kMapsAtOnce, part.end_channel);
    if constexpr (E::kSums) part.clear_sums(first, last);
    for (int64_t row = part.begin; row < part.end; row += rows_at_once) {
      const int64_t end_row = HWY_MIN(row + rows_at_once, part.end);
      for (int64_t n = row; n < end_row; ++n) {
        Sums carried = nothing;  // to the next map, from the line that it shares with the one before
        for (int64_t c = first; c < last; ++c) {
          const BackwardRun<T> run = run_of(n, c);
          C* dy = near_dy + (c - first) * kLanes;
          C* dy_x = near_dy_x + (c - first) * kLanes;
          Sums sums = n > row ? Sums{hn::Load(full, dy), hn::Load(full, dy_x)} : nothing;
          if constexpr (kStore == Store::kStreamed) {
            const Lines lines = whole_lines(run.dx, points);
            if (lines.begin > 0) {
              if (c == first) {
                const int64_t place = kLineElements<T> - lines.begin;
                carried = backward_edge<E>(full, values, run, 0, lines.begin, place, c).after;
              }
              add(sums, carried);
            }
            const auto of = spread<E>(full, values, c);
            for (int64_t begin = lines.begin; begin < lines.end; begin += kPiece) {
              if (begin > lines.begin) to_double(std::exchange(sums, nothing), c);
              backward_vectors<kStore, E>(full, of, run, begin, HWY_MIN(begin + kPiece, lines.end), sums);
            }
            if (const int64_t ending = points - lines.end; ending > 0) {
              const auto seam = c + 1 < last
                                    ? backward_shared_line<E>(full, values, run, run_of(n, c + 1), lines.end, ending, c)
                                    : backward_edge<E>(full, values, run, lines.end, ending, /*place=*/0, c);
              add(sums, seam.before);
              carried = seam.after;
            }
          } else {
            for (int64_t begin = 0; begin < points; begin += kPiece) {
              if (begin > 0) to_double(std::exchange(sums, nothing), c);
              backward_elements<E>(full, values, run, begin, HWY_MIN(begin + kPiece, points), c, overlap, sums);
            }
          }
          hn::Store(sums.dy, full, dy);
          hn::Store(sums.dy_x, full, dy_x);
        }
      }
      for (int64_t c = first; c < last; ++c) {
        const int64_t near = (c - first) * kLanes;
        to_double({hn::Load(full, near_dy + near), hn::Load(full, near_dy_x + near)}, c);
      }
    }
  }
}

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
