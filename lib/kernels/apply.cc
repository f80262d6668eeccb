#include "kernels/kernels.h"
#include "kernels/parallel.h"
#include "kernels/spans.h"
#include "kernels/streaming.h"
#include "kernels/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/apply.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

template <class T, bool kRelu, bool kResidual, bool kMask>
struct ApplyExpression {
  static constexpr bool kMasked = kMask;

  /// Element i of the inner run that the pointers begin with.
  template <Store kStore, class D>
  static HWY_INLINE void at(D d, const T* x, const T* residual, T* y, uint8_t* mask, int64_t i, hn::Vec<D> scale,
                            hn::Vec<D> shift, Compute<T> limit) {
    // Not MulAdd: the same bits on every instruction set, and in backward.
    auto value = hn::Add(hn::Mul(scale, load(d, x + i)), shift);
    if constexpr (kResidual) value = hn::Add(value, load(d, residual + i));
    const auto stop = stopped(d, value), over = hn::Ge(value, hn::Set(d, limit));
    if constexpr (kMask) store_mask(d, hn::Not(hn::Or(stop, over)), mask, i);
    if constexpr (kRelu) value = hn::IfThenZeroElse(stop, hn::IfThenElse(over, hn::Set(d, limit), value));
    store<kStore>(d, value, y + i);
  }
};

template <class T>
HWY_INLINE Compute<T> limit_of(const Apply<T>& args) {
  return static_cast<Compute<T>>(args.activation ? args.activation->limit : NAN);
}

/// The inner run that elements are counted from.
template <class T>
struct ApplyRun {
  const T* x;
  const T* residual;
  T* y;
  uint8_t* mask;
};

/// kPoints points of a channels-last tensor at once: they share the loads of the coefficients.
template <Store kStore, class E, int kPoints, class T>
HWY_INLINE void apply_rows(const Apply<T>& args, int64_t channels, const ApplyRun<T>* runs) {
  const hn::ScalableTag<Compute<T>> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const Compute<T> limit = limit_of(args);
  int64_t c = 0;
  for (; c + 2 * kLanes <= channels; c += 2 * kLanes) {
    const auto scale0 = hn::LoadU(full, args.scale + c), scale1 = hn::LoadU(full, args.scale + c + kLanes);
    const auto shift0 = hn::LoadU(full, args.shift + c), shift1 = hn::LoadU(full, args.shift + c + kLanes);
    for (int r = 0; r < kPoints; ++r) {  // each line of memory is finished before the next is begun
      E::template at<kStore>(full, runs[r].x, runs[r].residual, runs[r].y, runs[r].mask, c, scale0, shift0, limit);
      E::template at<kStore>(full, runs[r].x, runs[r].residual, runs[r].y, runs[r].mask, c + kLanes, scale1, shift1,
                             limit);
    }
  }
  for_lanes<kStore>(full, c, channels, [&]<class D>(D d, int64_t i) HWY_ATTR {
    const auto scale = hn::LoadU(d, args.scale + i), shift = hn::LoadU(d, args.shift + i);
    for (int r = 0; r < kPoints; ++r)
      E::template at<kStore>(d, runs[r].x, runs[r].residual, runs[r].y, runs[r].mask, i, scale, shift, limit);
  });
}

/// Points [begin, end) of a channels-last tensor.
template <Store kStore, class E, class T>
void apply_points(const Layout& in, const Layout& out, const Apply<T>& args, int64_t begin, int64_t end) {
  const int64_t in_step = point_step(in), out_step = point_step(out), mask_bytes = mask_run_bytes(in);
  const auto point = [&](int64_t p) HWY_ATTR {
    return ApplyRun<T>{args.x + p * in_step, args.residual + p * out_step, args.y + p * out_step,
                       args.mask + p * mask_bytes};
  };
  const bool by_four = four_points_at_once<T, kStore>(hn::ScalableTag<Compute<T>>(), in.channels);
  int64_t p = begin;
  if (by_four) {
    for (; p + 4 <= end; p += 4) {
      const ApplyRun<T> runs[] = {point(p), point(p + 1), point(p + 2), point(p + 3)};
      apply_rows<kStore, E, 4>(args, in.channels, runs);
    }
  }
  for (; p < end; ++p) {
    const ApplyRun<T> run = point(p);
    apply_rows<kStore, E, 1>(args, in.channels, &run);
  }
}

/// Elements [begin, end) of one map. `overlap`: the last vector may cover elements once more that are finished.
template <Store kStore, class E, class T>
HWY_INLINE void apply_map(const T* x, const T* residual, T* y, uint8_t* mask, int64_t begin, int64_t end,
                          Compute<T> scale, Compute<T> shift, Compute<T> limit, bool overlap) {
  const hn::ScalableTag<Compute<T>> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const auto scales = hn::Set(full, scale), shifts = hn::Set(full, shift);
  int64_t i = begin;
  for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
    E::template at<kStore>(full, x, residual, y, mask, i, scales, shifts, limit);
    E::template at<kStore>(full, x, residual, y, mask, i + kLanes, scales, shifts, limit);
  }
  if (overlap && kStore == Store::kCached && end - begin >= kLanes) {
    if (i + kLanes < end) E::template at<kStore>(full, x, residual, y, mask, i, scales, shifts, limit);
    if (i < end) E::template at<kStore>(full, x, residual, y, mask, end - kLanes, scales, shifts, limit);
    return;
  }
  for_lanes<kStore>(full, i, end, [&]<class D>(D d, int64_t j) HWY_ATTR {
    E::template at<kStore>(d, x, residual, y, mask, j, hn::Set(d, scale), hn::Set(d, shift), limit);
  });
}

/// A line of memory whose first elements, `ending` of them, are the last ones of map c, and the others the first ones
/// of the next: at once, so that it can be streamed whole. `line` is where it begins; its mask is for its own bits.
template <class E, class T>
HWY_INLINE void apply_seam(const Apply<T>& args, const ApplyRun<T>& line, int64_t ending, int64_t c) {
  const hn::ScalableTag<Compute<T>> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  for (int64_t i = 0; i < kLineElements<T>; i += kLanes) {
    const auto is_before = hn::FirstN(full, static_cast<size_t>(HWY_MIN(HWY_MAX(ending - i, 0), kLanes)));
    const auto scale = hn::IfThenElse(is_before, hn::Set(full, args.scale[c]), hn::Set(full, args.scale[c + 1]));
    const auto shift = hn::IfThenElse(is_before, hn::Set(full, args.shift[c]), hn::Set(full, args.shift[c + 1]));
    E::template at<Store::kStreamed>(full, line.x, line.residual, line.y, line.mask, i, scale, shift, limit_of(args));
  }
}

/// The seam behind the whole lines of a map, up to `begin`, and its bits to the masks of both maps.
template <class E, class T>
HWY_INLINE void apply_shared_line(const Apply<T>& args, const ApplyRun<T>& run, int64_t begin, int64_t points,
                                  uint8_t* next_mask, int64_t c) {
  uint8_t bits[kMaskBytesOfLine] = {};
  const int64_t ending = points - begin;
  apply_seam<E>(args, ApplyRun<T>{run.x + begin, run.residual + begin, run.y + begin, bits}, ending, c);
  if constexpr (E::kMasked) {
    for (int64_t i = 0; i < kLineElements<T>; ++i) {
      uint8_t* mask = i < ending ? run.mask : next_mask;
      const int64_t to = i < ending ? begin + i : i - ending;
      if (to % 8 == 0) mask[to / 8] = 0;
      set_bit(mask, to, get_bit(bits, i));
    }
  }
}

/// Maps [begin, end) of a contiguous tensor, counted through rows and channels.
template <Store kStore, class E, class T>
void apply_maps(const Layout& in, const Layout& out, const Apply<T>& args, int64_t begin, int64_t end) {
  const int64_t points = in.points();
  const int64_t mask_bytes = mask_run_bytes(in);
  const bool overlap = !args.mask && args.y != args.x && args.y != args.residual;
  int64_t n = begin / in.channels, c = begin % in.channels;
  bool begun = false;  // by the line that it shares with the map before
  for (int64_t map = begin; map < end; ++map, ++c) {
    if (c == in.channels) {
      c = 0;
      ++n;
    }
    const int64_t o = n * out.row_stride + c * points;
    const ApplyRun<T> run{args.x + n * in.row_stride + c * points, args.residual + o, args.y + o,
                          args.mask + map * mask_bytes};
    const auto part = [&]<Store kStoreOfPart>(int64_t from, int64_t to) HWY_ATTR {
      apply_map<kStoreOfPart, E>(run.x, run.residual, run.y, run.mask, from, to, args.scale[c], args.shift[c],
                                 limit_of(args), overlap);
    };
    if constexpr (kStore == Store::kStreamed) {
      const Lines lines = whole_lines(run.y, points);
      if (!begun) part.template operator()<Store::kCached>(0, lines.begin);
      part.template operator()<Store::kStreamed>(lines.begin, lines.end);
      begun = lines.end < points && map + 1 < end && c + 1 < in.channels;
      if (begun) {
        apply_shared_line<E>(args, run, lines.end, points, run.mask + mask_bytes, c);
      } else {
        part.template operator()<Store::kCached>(lines.end, points);
      }
    } else {
      part.template operator()<Store::kCached>(0, points);
    }
  }
}

template <Store kStore, class E, class T>
void apply_part(const Layout& in, const Layout& out, const Apply<T>& args, int64_t begin, int64_t end) {
  if (is_channels_last(in)) {
    apply_points<kStore, E>(in, out, args, begin, end);
  } else {
    apply_maps<kStore, E>(in, out, args, begin, end);
  }
  if constexpr (kStore == Store::kStreamed) hwy::FlushStream();
}

template <class E, class T>
void choose_store(const Layout& in, const Layout& out, const Apply<T>& args, bool streamed, int64_t begin,
                  int64_t end) {
  if constexpr (can_stream<T>(hn::ScalableTag<Compute<T>>())) {
    if (streamed) return apply_part<Store::kStreamed, E>(in, out, args, begin, end);
  }
  apply_part<Store::kCached, E>(in, out, args, begin, end);
}

/// Items [begin, end): points, or maps.
template <class T>
void apply_items(const Layout& in, const Layout& out, const Apply<T>& args, bool streamed, int64_t begin, int64_t end) {
  const auto with = [&]<class E>(E) { choose_store<E>(in, out, args, streamed, begin, end); };
  const bool relu = kernels::kind_of(args.activation) == Activation::Kind::kRelu;
  if (args.residual) {
    if (relu && args.mask) {
      with(ApplyExpression<T, true, true, true>());
    } else if (relu) {
      with(ApplyExpression<T, true, true, false>());
    } else {
      with(ApplyExpression<T, false, true, false>());
    }
  } else if (relu && args.mask) {
    with(ApplyExpression<T, true, false, true>());
  } else if (relu) {
    with(ApplyExpression<T, true, false, false>());
  } else {
    with(ApplyExpression<T, false, false, false>());
  }
}

#define DEFINE(T, name)                                                                                      \
  void apply_##name(const Layout& in, const Layout& out, const Apply<T>& args, bool streamed, int64_t begin, \
                    int64_t end) {                                                                           \
    apply_items(in, out, args, streamed, begin, end);                                                        \
  }
SAMPLENORM_FOR_EACH_TYPE(DEFINE)
#undef DEFINE

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace samplenorm::kernels {
namespace {

#define EXPORT(T, name)                                                                                            \
  HWY_EXPORT(apply_##name);                                                                                        \
  void run(const Layout& in, const Layout& out, const Apply<T>& args, bool streamed, int64_t begin, int64_t end) { \
    HWY_DYNAMIC_DISPATCH(apply_##name)(in, out, args, streamed, begin, end);                                       \
  }
SAMPLENORM_FOR_EACH_TYPE(EXPORT)
#undef EXPORT

}  // namespace

template <class T>
void apply(const Layout& in, const Layout& out, const Apply<T>& args) {
  const int64_t bytes = in.rows * in.row_elements() * static_cast<int64_t>(sizeof(T));
  const int64_t items = in.rows * runs_in_row(in);
  const bool streamed = args.y != args.x && args.y != args.residual && worth_streaming(bytes, out, args.y);
  const bool spans = kind_of(args.activation) == Activation::Kind::kOther;
  share(items, 2 * bytes, [&](int64_t begin, int64_t end) {
    spans ? apply_spans(in, out, args, streamed, begin, end) : run(in, out, args, streamed, begin, end);
  });
}

#define INSTANTIATE(T, name) template void apply(const Layout&, const Layout&, const Apply<T>&);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::kernels
#endif
