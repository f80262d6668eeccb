// What apply and backward share for activations that work on spans. Included once for each instruction set.

#if defined(SAMPLENORM_KERNELS_SPANS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SAMPLENORM_KERNELS_SPANS_INL_H_
#undef SAMPLENORM_KERNELS_SPANS_INL_H_
#else
#define SAMPLENORM_KERNELS_SPANS_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

/// Elements that an activation is called for at a time, at most: 8 KB of floats.
constexpr int64_t kSpanElements = 2048;

/// z = scale * x + shift (+ residual) of elements [begin, end) of an inner run. Scale and shift are those of its
/// channels or, if it is a map, of its one channel. Memory must not stand idle while the activation is computed: the
/// next span of x and this one of `later`, which is read after it, are asked for.
template <bool kChannelsLast, class T, class C>
HWY_INLINE void fill_span(const T* x, const T* residual, const T* later, const C* scale, const C* shift, int64_t begin,
                          int64_t end, C* z) {
  const auto at = [&]<class D>(D d, const C* of, int64_t i) HWY_ATTR {
    if constexpr (kChannelsLast) {
      return hn::LoadU(d, of + i);
    } else {
      return hn::Set(d, *of);
    }
  };
  for_lanes(hn::ScalableTag<C>(), begin, end, [&]<class D>(D d, int64_t i) HWY_ATTR {
    hwy::Prefetch(x + i + kSpanElements);
    if (later) hwy::Prefetch(later + i);
    // Not MulAdd: the same bits on every instruction set, and in apply and backward.
    auto value = hn::Add(hn::Mul(at(d, scale, i), load(d, x + i)), at(d, shift, i));
    if (residual) value = hn::Add(value, load(d, residual + i));
    hn::StoreU(value, d, z + (i - begin));
  });
}

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
