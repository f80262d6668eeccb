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

template <class T>
void sum_points(const Layout& in, const T* x, const MomentsPart& part, SampleCopy<T> copy) {
  constexpr int64_t kTogether = 8;
  const hn::ScalableTag<double> full;
  const int64_t step = point_step(in), first = part.first_channel, end = part.end_channel;
  const T* shifts = x + part.points[0] * step;
  std::fill(part.sum + first, part.sum + end, 0.0);
  std::fill(part.sum_of_squares + first, part.sum_of_squares + end, 0.0);
  for (int64_t i = part.begin; i < part.end; i += kTogether) {
    const int64_t count = HWY_MIN(kTogether, part.end - i);
    const T* points[kTogether];
    for (int64_t j = 0; j < count; ++j) points[j] = x + part.points[i + j] * step;
    for_lanes(full, first, end, [&]<class D>(D d, int64_t c) HWY_ATTR {
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
