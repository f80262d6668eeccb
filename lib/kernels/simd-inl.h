// Loads, stores and masks of the activation types as vectors of Compute<T>. Included once for each instruction set.

#if defined(SAMPLENORM_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SAMPLENORM_KERNELS_SIMD_INL_H_
#undef SAMPLENORM_KERNELS_SIMD_INL_H_
#else
#define SAMPLENORM_KERNELS_SIMD_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "core/float16.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLineBytes = 64;
template <class T>
constexpr int64_t kLineElements = kLineBytes / static_cast<int64_t>(sizeof(T));
/// The bits of a line's elements, and a byte that load_mask() may touch.
constexpr int64_t kMaskBytesOfLine = kLineBytes / 2 / 8 + 1;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
#define SAMPLENORM_HALF_IN_HARDWARE 1
#else
#define SAMPLENORM_HALF_IN_HARDWARE 0
#endif
constexpr bool kHalfInHardware = SAMPLENORM_HALF_IN_HARDWARE;
#undef SAMPLENORM_HALF_IN_HARDWARE

// D is a tag of Compute<T>; load and store convert between it and T.

template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const BFloat16* from) {
  const hn::Rebind<uint16_t, D> narrow;
  const hn::Rebind<uint32_t, D> wide;
  const auto bits = hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, bits)));
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const Float16* from) {
  if constexpr (kHalfInHardware) {
    const hn::Rebind<hwy::float16_t, D> half;
    const hn::Rebind<uint16_t, D> bits;
    return hn::PromoteTo(d, hn::BitCast(half, hn::LoadU(bits, reinterpret_cast<const uint16_t*>(from))));
  } else {
    HWY_ALIGN float values[hn::MaxLanes(d)];
    for (size_t i = 0; i < hn::Lanes(d); ++i) values[i] = static_cast<float>(from[i]);
    return hn::Load(d, values);
  }
}

/// Whether to write around the cache.
enum class Store { kCached, kStreamed };

template <Store kStore, class D, class V, class T>
HWY_INLINE void store_bits(D d, V value, T* to) {
  if constexpr (kStore == Store::kStreamed) {
    hn::Stream(value, d, to);
  } else {
    hn::StoreU(value, d, to);
  }
}

template <Store kStore, class D, class T>
HWY_INLINE void store(D d, hn::Vec<D> value, T* to) {
  store_bits<kStore>(d, value, to);
}

template <Store kStore, class D>
HWY_INLINE void store(D /*d*/, hn::Vec<D> value, BFloat16* to) {
  const hn::Rebind<uint32_t, D> wide;
  const hn::Rebind<int32_t, D> wide_signed;
  const hn::Rebind<uint16_t, D> narrow;
  const auto bits = hn::BitCast(wide, value);
  const auto upper = hn::ShiftRight<16>(bits);
  // To nearest, ties to even; NaN stays NaN when its lower half is cut off.
  const auto odd = hn::And(upper, hn::Set(wide, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(wide, 0x7FFF))));
  const auto nan = hn::Or(upper, hn::Set(wide, 0x40));
  const auto is_nan = hn::RebindMask(wide, hn::IsNaN(value));
  const auto result = hn::IfThenElse(is_nan, nan, rounded);
  store_bits<kStore>(narrow, hn::DemoteTo(narrow, hn::BitCast(wide_signed, result)), reinterpret_cast<uint16_t*>(to));
}

template <Store kStore, class D>
HWY_INLINE void store(D d, hn::Vec<D> value, Float16* to) {
  if constexpr (kHalfInHardware) {
    const hn::Rebind<hwy::float16_t, D> half;
    const hn::Rebind<uint16_t, D> bits;
    store_bits<kStore>(bits, hn::BitCast(bits, hn::DemoteTo(half, value)), reinterpret_cast<uint16_t*>(to));
  } else {
    HWY_ALIGN float values[hn::MaxLanes(d)];
    hn::Store(value, d, values);
    for (size_t i = 0; i < hn::Lanes(d); ++i) to[i] = static_cast<Float16>(values[i]);
  }
}

/// What ReLU stops. Written so that NaN passes, as in torch::relu.
template <class D>
HWY_INLINE hn::Mask<D> stopped(D d, hn::Vec<D> value) {
  return hn::Le(value, hn::Zero(d));
}

/// Lanes(d) bits of a mask's run from bit i on.
template <class D>
HWY_INLINE hn::Mask<D> load_mask(D d, const uint8_t* run, int64_t i) {
  constexpr size_t kLanes = hn::MaxLanes(D()), kBytes = (kLanes + 7) / 8;
  run += i / 8;
  const auto shift = static_cast<unsigned>(i % 8);
  if (kLanes % 8 == 0 && shift == 0) return hn::LoadMaskBits(d, run);
  uint8_t bits[8];
  for (size_t byte = 0; byte < kBytes; ++byte) {
    unsigned two = run[byte];
    if (shift + HWY_MIN(kLanes, 8) > 8) two |= static_cast<unsigned>(run[byte + 1]) << 8;
    bits[byte] = static_cast<uint8_t>(two >> shift);
  }
  return hn::LoadMaskBits(d, bits);
}

/// The same for writing, in ascending order of i.
template <class D>
HWY_INLINE void store_mask(D d, hn::Mask<D> mask, uint8_t* run, int64_t i) {
  constexpr size_t kLanes = hn::MaxLanes(D()), kBytes = (kLanes + 7) / 8;
  uint8_t bits[8] = {};
  hn::StoreMaskBits(d, mask, bits);
  run += i / 8;
  const auto shift = static_cast<unsigned>(i % 8);
  for (size_t byte = 0; byte < kBytes; ++byte) {
    const unsigned before = shift == 0 ? 0U : run[byte];
    const unsigned two = before | static_cast<unsigned>(bits[byte]) << shift;
    run[byte] = static_cast<uint8_t>(two);
    if (shift + HWY_MIN(kLanes, 8) > 8) run[byte + 1] = static_cast<uint8_t>(two >> 8);
  }
}

HWY_INLINE bool get_bit(const uint8_t* run, int64_t i) { return run[i / 8] >> (i % 8) & 1; }
/// For bits that are 0 so far.
HWY_INLINE void set_bit(uint8_t* run, int64_t i, bool value) {
  run[i / 8] = static_cast<uint8_t>(run[i / 8] | static_cast<unsigned>(value) << (i % 8));
}

/// Calls step(d, i) for the elements [i, end) from `begin` on with the widest vectors first, then with smaller ones, so
/// that each element is visited once and nothing beyond is touched. What is streamed is whole lines, which have no
/// rest.
template <Store kStore = Store::kCached, class D, class Step>
HWY_INLINE void for_lanes(D d, int64_t begin, int64_t end, Step step) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  for (; begin + kLanes <= end; begin += kLanes) step(d, begin);
  if constexpr (kLanes > 1 && kStore == Store::kCached) {
    // Of the sizes between, four lanes only: each costs the compiler time.
    if (begin < end) for_lanes(hn::CappedTag < hn::TFromD<D>, kLanes <= 4 ? 1 : 4 > (), begin, end, step);
  }
}

/// Streaming stores are of 16 bytes at least, and a line is a number of them.
template <class T, class D>
constexpr bool can_stream(D d) {
  return hn::MaxLanes(d) * sizeof(T) >= 16 && hn::MaxLanes(d) * sizeof(T) <= kLineBytes;
}

/// Points of a channels-last tensor to work on together: they share the loads of what belongs to a channel. Long runs
/// do better one by one: in the order of memory if they are streamed, and 4 KB apart they would fall into the same few
/// places of the cache. Streaming has to finish each line before it begins another, which two vectors do if they are
/// long enough.
template <class T, Store kStore, class D>
HWY_INLINE bool four_points_at_once(D d, int64_t channels) {
  constexpr int64_t kLongRun = kStore == Store::kStreamed ? 512 : 512;
  const bool finishes_lines = kStore == Store::kCached || 2 * hn::MaxLanes(d) * sizeof(T) >= kLineBytes;
  return finishes_lines && channels * static_cast<int64_t>(sizeof(T)) <= kLongRun;
}

/// Which of `count` elements from `to` on are whole lines.
struct Lines {
  int64_t begin, end;
};
template <class T>
HWY_INLINE Lines whole_lines(const T* to, int64_t count) {
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLineBytes / sizeof(T));
  const int64_t begin = (kLineElements<T> - past) % kLineElements<T>;
  return begin > count ? Lines{0, 0} : Lines{begin, begin + (count - begin) / kLineElements<T> * kLineElements<T>};
}

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
