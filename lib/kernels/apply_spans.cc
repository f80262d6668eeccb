#include <algorithm>

#include "kernels/spans.h"
#include "kernels/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/apply_spans.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/spans-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

/// Elements [begin, end) of an inner run: y, and the mask if there is one.
template <Store kStore, class T>
HWY_INLINE void store_span(const Compute<T>* values, const Compute<T>* derivatives, int64_t begin, int64_t end, T* y,
                           uint8_t* mask) {
  for_lanes<kStore>(hn::ScalableTag<Compute<T>>(), begin, end, [&]<class D>(D d, int64_t i) HWY_ATTR {
    if (mask) {
      const auto derivative = hn::LoadU(d, derivatives + (i - begin));
      store_mask(d, hn::Eq(derivative, hn::Set(d, Compute<T>{1})), mask, i);
    }
    store<kStore>(d, hn::LoadU(d, values + (i - begin)), y + i);
  });
}

template <Store kStore, bool kChannelsLast, class T>
void apply_runs(const Layout& in, const Layout& out, const Apply<T>& args, int64_t begin, int64_t end) {
  HWY_ALIGN Compute<T> values[kSpanElements];
  HWY_ALIGN Compute<T> derivatives[kSpanElements];
  const int64_t length = run_elements(in), mask_bytes = mask_run_bytes(in);
  const int64_t runs_at_once = HWY_MAX(1, kSpanElements / length);
  const auto offset = [](const Layout& layout, int64_t run) {
    if (kChannelsLast) return run * point_step(layout);
    return run / layout.channels * layout.row_stride + run % layout.channels * layout.points();
  };
  for (int64_t first = begin; first < end; first += runs_at_once) {
    const int64_t last = HWY_MIN(first + runs_at_once, end);
    for (int64_t from = 0; from < length; from += kSpanElements) {
      const int64_t to = HWY_MIN(from + kSpanElements, length), count = (last - first) * (to - from);
      for (int64_t run = first; run < last; ++run) {
        const int64_t c = kChannelsLast ? 0 : run % in.channels;
        fill_span<kChannelsLast>(args.x + offset(in, run), args.residual ? args.residual + offset(out, run) : nullptr,
                                 static_cast<const T*>(nullptr), args.scale + c, args.shift + c, from, to,
                                 values + (run - first) * (to - from));
      }
      if (args.mask) {
        std::copy_n(values, count, derivatives);
        args.activation->derivative(derivatives, count);
      }
      args.activation->value(values, count);
      for (int64_t run = first; run < last; ++run) {
        const int64_t at = (run - first) * (to - from);
        store_span<kStore>(values + at, derivatives + at, from, to, args.y + offset(out, run),
                           args.mask ? args.mask + run * mask_bytes : nullptr);
      }
    }
  }
}

template <class T>
void apply_through_spans(const Layout& in, const Layout& out, const Apply<T>& args, bool streamed, int64_t begin,
                         int64_t end) {
  if (!is_channels_last(in)) return apply_runs<Store::kCached, false>(in, out, args, begin, end);
  if constexpr (can_stream<T>(hn::ScalableTag<Compute<T>>())) {
    if (streamed) {
      apply_runs<Store::kStreamed, true>(in, out, args, begin, end);
      hwy::FlushStream();
      return;
    }
  }
  apply_runs<Store::kCached, true>(in, out, args, begin, end);
}

#define DEFINE(T, name)                                                                                            \
  void apply_spans_##name(const Layout& in, const Layout& out, const Apply<T>& args, bool streamed, int64_t begin, \
                          int64_t end) {                                                                           \
    apply_through_spans(in, out, args, streamed, begin, end);                                                      \
  }
SAMPLENORM_FOR_EACH_TYPE(DEFINE)
#undef DEFINE

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace samplenorm::kernels {

#define EXPORT(T, name)                                                                                     \
  HWY_EXPORT(apply_spans_##name);                                                                           \
  template <>                                                                                               \
  void apply_spans(const Layout& in, const Layout& out, const Apply<T>& args, bool streamed, int64_t begin, \
                   int64_t end) {                                                                           \
    HWY_DYNAMIC_DISPATCH(apply_spans_##name)(in, out, args, streamed, begin, end);                          \
  }
SAMPLENORM_FOR_EACH_TYPE(EXPORT)
#undef EXPORT

}  // namespace samplenorm::kernels
#endif
