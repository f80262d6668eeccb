// What backward computes for one vector of elements. Included once for each instruction set.

#if defined(SAMPLENORM_KERNELS_BACKWARD_EXPRESSION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SAMPLENORM_KERNELS_BACKWARD_EXPRESSION_INL_H_
#undef SAMPLENORM_KERNELS_BACKWARD_EXPRESSION_INL_H_
#else
#define SAMPLENORM_KERNELS_BACKWARD_EXPRESSION_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/arguments.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

/// How f' is found: ReLU's and that of a mask is 0 or 1; any other is a factor that is given.
enum class Gate { kNone, kFromX, kFromY, kFromMask, kFactors, kFactorsAndResidual };
/// What a pass over the tensors gives: both at once for a sample; one after the other where dx needs the sums.
enum class Pass { kSumsAndDx, kSums, kCorrectedDx };

/// Where the values of channels are. A copy of its own: stores to tensors must not make the compiler read it again.
template <class C>
struct ChannelValues {
  template <class T>
  explicit ChannelValues(const Backward<T>& args)
      : centre(args.centre),
        scale(args.scale),
        shift(args.shift),
        offset(args.offset),
        slope(args.slope),
        limit(static_cast<C>(args.activation ? args.activation->limit : NAN)) {}
  const C *centre, *scale, *shift, *offset, *slope;
  C limit;
};

/// What belongs to a channel (or to as many channels as D has lanes). ReLU stops scale * x up to the threshold, and
/// from the limit on what is that much larger.
template <class D>
struct Coefficients {
  hn::Vec<D> centre, scale, threshold, offset, slope, limit;
};

/// The inner run that elements are counted from.
template <class T>
struct BackwardRun {
  const T* dy;
  const T* x;
  T* dx;
  T* dresidual;
  const uint8_t* mask;
};

/// And the factors f' of its elements.
template <class T>
struct FactorRun : BackwardRun<T> {
  const Compute<T>* factors;
};

template <class TensorType, Gate kGate, Pass kPass>
struct BackwardExpression {
  using T = TensorType;
  static constexpr bool kFactors = kGate == Gate::kFactors || kGate == Gate::kFactorsAndResidual;
  using Run = std::conditional_t<kFactors, FactorRun<T>, BackwardRun<T>>;
  static constexpr bool kSums = kPass != Pass::kCorrectedDx;
  static constexpr bool kDx = kPass != Pass::kSums;
  static constexpr bool kMasked = kGate == Gate::kFromMask;
  static constexpr bool kResidual = kDx && (kMasked || kGate == Gate::kFactorsAndResidual);

  /// `get` takes a pointer to per-channel values.
  template <class D, class Get>
  static HWY_INLINE Coefficients<D> coefficients(D d, const ChannelValues<Compute<T>>& values, Get get) {
    const auto zero = hn::Zero(d);
    Coefficients<D> all{get(values.centre), zero, zero, zero, zero, hn::Set(d, values.limit)};
    if constexpr (kDx || kGate == Gate::kFromX) all.scale = get(values.scale);
    if constexpr (kGate == Gate::kFromX) all.threshold = hn::Neg(get(values.shift));
    if constexpr (kPass == Pass::kCorrectedDx) {
      all.offset = get(values.offset);
      all.slope = get(values.slope);
    }
    return all;
  }

  /// One vector. Returns dy', the residual's gradient, for keep_residual().
  template <Store kStore, class D>
  static HWY_INLINE hn::Vec<D> at(D d, const Run& run, int64_t i, const Coefficients<D>& of, hn::Vec<D>& sum_dy,
                                  hn::Vec<D>& sum_dy_x) {
    const auto x = load(d, run.x + i);
    auto dy = load(d, run.dy + i);
    if constexpr (kGate == Gate::kFromMask) {
      dy = hn::IfThenElseZero(load_mask(d, run.mask, i), dy);
    } else if constexpr (kGate == Gate::kFromX) {
      // The same as scale * x + shift <= 0 to the last bit: a sum is never rounded to the other side of 0.
      const auto scaled = hn::Mul(of.scale, x);
      const auto over = hn::Ge(hn::Sub(scaled, of.threshold), of.limit);
      dy = hn::IfThenZeroElse(hn::Or(hn::Le(scaled, of.threshold), over), dy);
    } else if constexpr (kGate == Gate::kFromY) {
      dy = hn::IfThenZeroElse(hn::Or(stopped(d, x), hn::Ge(x, of.limit)), dy);
    } else if constexpr (kFactors) {
      const auto factor = hn::LoadU(d, run.factors + i);
      dy = hn::IfThenZeroElse(hn::Eq(factor, hn::Zero(d)), hn::Mul(factor, dy));
    }
    const auto deviation = hn::Sub(x, of.centre);
    if constexpr (kSums) {
      sum_dy = hn::Add(sum_dy, dy);
      sum_dy_x = hn::MulAdd(dy, deviation, sum_dy_x);
    }
    if constexpr (kDx) {
      auto dx = hn::Mul(of.scale, dy);
      if constexpr (kPass == Pass::kCorrectedDx) dx = hn::Sub(dx, hn::MulAdd(of.slope, deviation, of.offset));
      store<kStore>(d, dx, run.dx + i);
    }
    return dy;
  }

  template <Store kStore, class D>
  static HWY_INLINE void keep_residual(D d, const Run& run, int64_t i, hn::Vec<D> dy) {
    if constexpr (kResidual) store<kStore>(d, dy, run.dresidual + i);
  }

  /// A vector and all that it gives.
  template <Store kStore, class D>
  static HWY_INLINE void one(D d, const Run& run, int64_t i, const Coefficients<D>& of, hn::Vec<D>& sum_dy,
                             hn::Vec<D>& sum_dy_x) {
    keep_residual<kStore>(d, run, i, at<kStore>(d, run, i, of, sum_dy, sum_dy_x));
  }

  /// Two vectors side by side: dx is written before the residual's gradient, so that each line is finished at once.
  template <Store kStore, class D>
  static HWY_INLINE void two(D d, const Run& run, int64_t i, const Coefficients<D>& left, const Coefficients<D>& right,
                             hn::Vec<D>& dy0, hn::Vec<D>& dy_x0, hn::Vec<D>& dy1, hn::Vec<D>& dy_x1) {
    constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
    const auto first = at<kStore>(d, run, i, left, dy0, dy_x0);
    const auto second = at<kStore>(d, run, i + kLanes, right, dy1, dy_x1);
    keep_residual<kStore>(d, run, i, first);
    keep_residual<kStore>(d, run, i + kLanes, second);
  }
};

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
