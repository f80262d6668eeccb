// Sums over points of channels-last tensors. Included once for each instruction set.

#if defined(SAMPLENORM_KERNELS_MOMENTS_POINTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SAMPLENORM_KERNELS_MOMENTS_POINTS_INL_H_
#undef SAMPLENORM_KERNELS_MOMENTS_POINTS_INL_H_
#else
#define SAMPLENORM_KERNELS_MOMENTS_POINTS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "kernels/moments_part.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

using kernels::MomentsPart;

/// Elements as doubles.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_double(D d, const T* from) {
  if constexpr (sizeof(T) == 8) {
    return hn::LoadU(d, from);
  } else {
    return hn::PromoteTo(d, load(hn::Rebind<float, D>(), from));
  }
}

#if HWY_TARGET == HWY_SCALAR
template <class D, class V>
HWY_INLINE void add_floats(D /*d*/, V values, double* to) {
  *to += static_cast<double>(hn::GetLane(values));
}
#else
/// Adds a vector of floats to as many doubles.
template <class D, class V>
HWY_INLINE void add_floats(D d, V values, double* to) {
  const hn::Half<D> half;
  const hn::Rebind<double, decltype(half)> wide;
  constexpr auto kHalf = static_cast<int64_t>(hn::MaxLanes(half));
  const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, values));
  const auto high = hn::PromoteTo(wide, hn::UpperHalf(half, values));
  hn::StoreU(hn::Add(hn::LoadU(wide, to), low), wide, to);
  hn::StoreU(hn::Add(hn::LoadU(wide, to + kHalf), high), wide, to + kHalf);
}
#endif

constexpr int64_t kPointsTogether = 16;

/// Whole vectors of channels of a few points, from `first` on: summed up in float32, then added to the sums in float64.
/// Returns the first channel that is left.
template <class T>
HWY_INLINE int64_t sum_vectors(const T* const* points, int64_t count, const T* shifts, int64_t first, int64_t end,
                               double* sums, double* sums_of_squares) {
  const hn::ScalableTag<float> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  int64_t c = first;
  if constexpr (sizeof(T) < 8) {
    for (; c + kLanes <= end; c += kLanes) {
      const auto shift = load(full, shifts + c);
      auto sum = hn::Zero(full), squares = sum;
      for (int64_t j = 0; j < count; ++j) {
        const auto deviation = hn::Sub(load(full, points[j] + c), shift);
        sum = hn::Add(sum, deviation);
        squares = hn::MulAdd(deviation, deviation, squares);
      }
      add_floats(full, sum, sums + c);
      add_floats(full, squares, sums_of_squares + c);
    }
  }
  return c;
}

template <class T>
void sum_points(const Layout& in, const T* x, const MomentsPart& part, SampleCopy<T> copy) {
  const hn::ScalableTag<double> full;
  const int64_t step = point_step(in), first = part.first_channel, end = part.end_channel;
  const T* shifts = x + part.points[0] * step;
  std::fill(part.sum + first, part.sum + end, 0.0);
  std::fill(part.sum_of_squares + first, part.sum_of_squares + end, 0.0);
  for (int64_t i = part.begin; i < part.end; i += kPointsTogether) {
    const int64_t count = HWY_MIN(kPointsTogether, part.end - i);
    const T* points[kPointsTogether];
    for (int64_t j = 0; j < count; ++j) points[j] = x + part.points[i + j] * step;
    if (part.points
            .numbers) {  // they lie apart: the begins of the next ones are asked for; the processor finds the rest
      const int64_t asked = HWY_MIN(end, first + 8 * kLineElements<T>);
      for (int64_t j = i + kPointsTogether; j < HWY_MIN(i + 2 * kPointsTogether, part.end); ++j)
        for (int64_t c = first; c < asked; c += kLineElements<T>) hwy::Prefetch(x + part.points[j] * step + c);
    }
    const int64_t left = sum_vectors(points, count, shifts, first, end, part.sum, part.sum_of_squares);
    for_lanes(full, left, end, [&]<class D>(D d, int64_t c) HWY_ATTR {
      const auto shift = load_double(d, shifts + c);
      auto sum = hn::LoadU(d, part.sum + c);
      auto squares = hn::LoadU(d, part.sum_of_squares + c);
      for (int64_t j = 0; j < count; ++j) {
        const auto deviation = hn::Sub(load_double(d, points[j] + c), shift);
        sum = hn::Add(sum, deviation);
        squares = hn::MulAdd(deviation, deviation, squares);
      }
      hn::StoreU(sum, d, part.sum + c);
      hn::StoreU(squares, d, part.sum_of_squares + c);
    });
    if (copy.data) {
      for (int64_t j = 0; j < count; ++j)
        std::memcpy(&copy.at(i + j, first), points[j] + first, static_cast<size_t>(end - first) * sizeof(T));
    }
  }
}

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
