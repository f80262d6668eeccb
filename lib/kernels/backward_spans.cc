#include "kernels/spans.h"
#include "kernels/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/backward_spans.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/backward_maps-inl.h"
#include "kernels/backward_points-inl.h"
#include "kernels/spans-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

/// The factors f' of a tile: some elements of some inner runs.
template <bool kChannelsLast, class T>
class Factors {
 public:
  using C = Compute<T>;
  explicit Factors(const Backward<T>& args) : args_(args) {}

  /// Begins a tile with elements [begin, end) of every run.
  HWY_INLINE void start(int64_t begin, int64_t end) {
    begin_ = begin;
    end_ = end;
    count_ = 0;
  }
  /// Adds a run; c is its channel, 0 for channels last.
  HWY_INLINE void add(const BackwardRun<T>& run, int64_t c) {
    if (args_.mask) {
      const auto slope = static_cast<C>(args_.activation->slope);
      for_lanes(hn::ScalableTag<C>(), begin_, end_, [&]<class D>(D d, int64_t i) HWY_ATTR {
        const auto factors = hn::IfThenElse(load_mask(d, run.mask, i), hn::Set(d, C{1}), hn::Set(d, slope));
        hn::StoreU(factors, d, values_ + count_ + (i - begin_));
      });
    } else {
      fill_span<kChannelsLast, T>(run.x, nullptr, run.dy, args_.scale + c, args_.shift + c, begin_, end_,
                                  values_ + count_);
    }
    count_ += end_ - begin_;
  }
  HWY_INLINE void finish() {
    if (!args_.mask) args_.activation->derivative(values_, count_);
  }
  /// Run `r` of those that were added, with its factors.
  HWY_INLINE FactorRun<T> with_factors(const BackwardRun<T>& run, int64_t r) const {
    return {run, values_ + (r * (end_ - begin_) - begin_)};
  }

 private:
  const Backward<T>& args_;
  int64_t begin_ = 0, end_ = 0, count_ = 0;
  HWY_ALIGN C values_[kSpanElements];
};

/// Points of a tile, for backward_rows().
template <class T>
struct FactorPoints {
  const Points<T>& points;
  const Factors<true, T>& factors;
  int64_t begin;

  HWY_INLINE FactorRun<T> at(int64_t p) const { return factors.with_factors(points.at(p), p - begin); }
};

template <Store kStore, class E, class T>
void backward_points_by_spans(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  using C = Compute<T>;
  static_assert(kChannelsAtOnce <= kSpanElements);
  const ChannelValues<C> values(args);
  const Points<T> points{
      {args.dy, args.x, args.dx, args.dresidual, args.mask}, point_step(in), point_step(out), mask_run_bytes(in)};
  const bool by_four = four_points_at_once<T, kStore>(hn::ScalableTag<C>(), in.channels);
  NearSums<C> near;
  Factors<true, T> factors(args);
  for (int64_t first = 0; first < in.channels; first += kChannelsAtOnce) {
    const int64_t last = HWY_MIN(first + kChannelsAtOnce, in.channels);
    const int64_t points_at_once = kSpanElements / (last - first);
    if constexpr (E::kSums) part.clear_sums(first, last);
    for (int64_t tile = part.begin; tile < part.end; tile += kPointsToDouble) {
      const int64_t tile_end = HWY_MIN(tile + kPointsToDouble, part.end);
      if constexpr (E::kSums) near.clear(last - first);
      for (int64_t begin = tile; begin < tile_end; begin += points_at_once) {
        const int64_t end = HWY_MIN(begin + points_at_once, tile_end);
        factors.start(first, last);
        for (int64_t p = begin; p < end; ++p) factors.add(points.at(p), 0);
        factors.finish();
        const FactorPoints<T> of_span{points, factors, begin};
        int64_t p = begin;
        if (by_four)
          for (; p + 4 <= end; p += 4) backward_rows<kStore, E, 4>(values, of_span, p, first, last, near);
        for (; p < end; ++p) backward_rows<kStore, E, 1>(values, of_span, p, first, last, near);
      }
      if constexpr (E::kSums) near.add_to(part, first, last);
    }
  }
}

template <class E, class T>
void backward_maps_by_spans(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  using C = Compute<T>;
  const hn::ScalableTag<C> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  constexpr int64_t kPiece = HWY_MIN(kSpanElements, kPointsToDouble * kLanes);
  const ChannelValues<C> values(args);
  const bool overlap = args.dx != args.dy && args.dx != args.x;
  const int64_t points = in.points(), mask_bytes = mask_run_bytes(in);
  const int64_t maps_at_once = HWY_MAX(1, kPiece / points);
  const auto run_of = [&](int64_t n, int64_t c) HWY_ATTR {
    const int64_t i = n * in.row_stride + c * points, o = n * out.row_stride + c * points;
    return BackwardRun<T>{args.dy + o, args.x + i, args.dx + i, args.dresidual + o,
                          args.mask + (n * in.channels + c) * mask_bytes};
  };
  Factors<false, T> factors(args);
  if constexpr (E::kSums) part.clear_sums(part.first_channel, part.end_channel);
  for (int64_t n = part.begin; n < part.end; ++n)
    for (int64_t first = part.first_channel; first < part.end_channel; first += maps_at_once) {
      const int64_t last = HWY_MIN(first + maps_at_once, part.end_channel);
      for (int64_t begin = 0; begin < points; begin += kPiece) {
        const int64_t end = HWY_MIN(begin + kPiece, points);
        factors.start(begin, end);
        for (int64_t c = first; c < last; ++c) factors.add(run_of(n, c), c);
        factors.finish();
        for (int64_t c = first; c < last; ++c) {
          LaneSums<hn::Vec<decltype(full)>> sums{hn::Zero(full), hn::Zero(full)};
          const FactorRun<T> run = factors.with_factors(run_of(n, c), c - first);
          backward_elements<E>(full, values, run, begin, end, c, overlap, sums);
          if constexpr (E::kSums) add_lanes(full, sums, part, c);
        }
      }
    }
}

template <class E, class T>
void choose_loop_by_spans(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  if (!is_channels_last(in)) return backward_maps_by_spans<E>(in, out, args, part);
  if constexpr (E::kDx && can_stream<T>(hn::ScalableTag<Compute<T>>())) {
    if (part.streamed) {
      backward_points_by_spans<Store::kStreamed, E>(in, out, args, part);
      hwy::FlushStream();
      return;
    }
  }
  backward_points_by_spans<Store::kCached, E>(in, out, args, part);
}

template <class T, Gate kGate>
void choose_dx_by_spans(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  if (args.offset) {
    choose_loop_by_spans<BackwardExpression<T, kGate, Pass::kCorrectedDx>>(in, out, args, part);
  } else {
    choose_loop_by_spans<BackwardExpression<T, kGate, Pass::kSumsAndDx>>(in, out, args, part);
  }
}

template <class T>
void backward_through_spans(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  if (!args.dx) return choose_loop_by_spans<BackwardExpression<T, Gate::kFactors, Pass::kSums>>(in, out, args, part);
  if (args.dresidual) return choose_dx_by_spans<T, Gate::kFactorsAndResidual>(in, out, args, part);
  choose_dx_by_spans<T, Gate::kFactors>(in, out, args, part);
}

#define DEFINE(T, name)                                                                                        \
  void backward_spans_##name(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) { \
    backward_through_spans(in, out, args, part);                                                               \
  }
SAMPLENORM_FOR_EACH_TYPE(DEFINE)
#undef DEFINE

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace samplenorm::kernels {

#define EXPORT(T, name)                                                                                 \
  HWY_EXPORT(backward_spans_##name);                                                                    \
  template <>                                                                                           \
  void backward_spans(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) { \
    HWY_DYNAMIC_DISPATCH(backward_spans_##name)(in, out, args, part);                                   \
  }
SAMPLENORM_FOR_EACH_TYPE(EXPORT)
#undef EXPORT

}  // namespace samplenorm::kernels
#endif
