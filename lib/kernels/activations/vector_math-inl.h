// The arithmetic of formula.h on vectors of float and double. Included once for each instruction set.

#if defined(SAMPLENORM_KERNELS_ACTIVATIONS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SAMPLENORM_KERNELS_ACTIVATIONS_VECTOR_MATH_INL_H_
#undef SAMPLENORM_KERNELS_ACTIVATIONS_VECTOR_MATH_INL_H_
#else
#define SAMPLENORM_KERNELS_ACTIVATIONS_VECTOR_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>

#include "kernels/activations/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The largest argument to give Highway's functions: beyond it e^a is infinite anyway, and they are undefined.
template <class T>
constexpr T kLargestExponent = sizeof(T) == 4 ? T{104} : T{710};

/// function(a), which is Highway's and knows neither NaN nor large arguments.
template <class D, class Function>
HWY_INLINE hn::Vec<D> guarded(D d, hn::Vec<D> a, Function function) {
  const auto result = function(hn::Min(a, hn::Set(d, kLargestExponent<hn::TFromD<D>>)));
  return hn::IfThenElse(hn::IsNaN(a), a, result);
}

/// For float: e^a = 2^n e^r with n = a / log 2, rounded, and e^r a polynomial of degree 6, fitted with numpy to the
/// smallest largest relative error over |r| <= log(2) / 2, which is 1.9e-9. Two thirds of the work of Highway's
/// function, which is precise for denormal results, too: here they are 0.
template <class D>
HWY_INLINE hn::Vec<D> exp_of_float(D d, hn::Vec<D> a) {
  constexpr float kFit[] = {0.0013836793F, 0.0083748568F, 0.041668229F, 0.1666642F, 0.49999991F, 1.0F, 1.0F};
  constexpr float kLeast = -87.33654F, kMost = 88.72283F;  // beyond them the result is denormal, or infinite
  const hn::RebindToSigned<D> integers;
  // 1.5 * 2^23 more than n: what is added rounds to an integer, which then is in the lowest bits.
  const auto rounds = hn::Set(d, 12582912.0F), n_and_more = hn::MulAdd(a, hn::Set(d, 1.44269504F), rounds);
  const auto n = hn::Sub(n_and_more, rounds);
  // log 2 in two parts, so that the first product is exact.
  const auto r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), hn::NegMulAdd(n, hn::Set(d, 0.693359375F), a));
  auto fit = hn::Set(d, kFit[0]);
  for (size_t i = 1; i < 7; ++i) fit = hn::MulAdd(fit, r, hn::Set(d, kFit[i]));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(integers, n_and_more));
  auto result = hn::BitCast(d, hn::Add(hn::BitCast(integers, fit), exponent));
  result = hn::IfThenZeroElse(hn::Lt(a, hn::Set(d, kLeast)), result);
  return hn::IfThenElse(hn::Le(a, hn::Set(d, kMost)), result, hn::Mul(a, hn::Inf(d)));  // NaN, too
}

/// For float. With a = |z|, P(-a) = e^(-a^2 / 2) G(a), and G is a polynomial in t = 1 / (1 + 0.3 a), times t: of degree
/// 9, fitted with numpy to the smallest largest relative error over [0, 14.5] (least squares at 4000 Chebyshev nodes of
/// t, weights multiplied by the error 300 times), which is 3.5e-9. Rounding makes that 5e-7.
template <class D>
HWY_INLINE hn::Vec<D> normal_cdf_of_float(D d, hn::Vec<D> z) {
  constexpr float kFit[] = {-0.020623464F, 0.11243559F, -0.22821355F, 0.19178446F, -0.07942343F,
                            0.0961568F,    0.07838966F, 0.11023542F,  0.11957181F, 0.11968669F};
  const auto one = hn::Set(d, 1.0F);
  // Beyond 15 the result is 0 or 1. Infinity would become NaN here; NaN comes back in the end.
  const auto a = hn::Min(hn::Abs(z), hn::Set(d, 15.0F));
  const auto t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.3F), a, one));
  auto fit = hn::Set(d, kFit[0]);
  for (size_t i = 1; i < 10; ++i) fit = hn::MulAdd(fit, t, hn::Set(d, kFit[i]));
  // a^2 / 2 must be precise to more digits than a float has. The square of a's upper 12 bits is exact, the rest small.
  const hn::RebindToUnsigned<D> bits;
  const auto upper = hn::BitCast(d, hn::And(hn::BitCast(bits, a), hn::Set(bits, 0xFFFFF000U)));
  const auto minus_half = hn::Set(d, -0.5F);
  const auto rest = hn::Mul(minus_half, hn::Mul(hn::Sub(a, upper), hn::Add(a, upper)));
  auto exp_rest = hn::MulAdd(rest, hn::Set(d, 1.0F / 6), hn::Set(d, 0.5F));
  exp_rest = hn::MulAdd(rest, hn::MulAdd(rest, exp_rest, one), one);
  const auto exp = hn::Mul(hn::Exp(d, hn::Mul(minus_half, hn::Mul(upper, upper))), exp_rest);
  const auto lower = hn::Mul(exp, hn::Mul(t, fit));
  const auto result = hn::IfThenElse(hn::Lt(z, hn::Zero(d)), lower, hn::Sub(one, lower));
  return hn::IfThenElse(hn::IsNaN(z), z, result);
}

template <class D>
struct VectorMath {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  using Condition = hn::Mask<D>;
  D d;

  HWY_INLINE V constant(double value) const { return hn::Set(d, static_cast<T>(value)); }
  HWY_INLINE V add(V a, V b) const { return hn::Add(a, b); }
  HWY_INLINE V sub(V a, V b) const { return hn::Sub(a, b); }
  HWY_INLINE V mul(V a, V b) const { return hn::Mul(a, b); }
  HWY_INLINE V div(V a, V b) const { return hn::Div(a, b); }
  HWY_INLINE V neg(V a) const { return hn::Neg(a); }
  HWY_INLINE V exp(V a) const {
    if constexpr (sizeof(T) == 4) return exp_of_float(d, a);
    return guarded(d, a, [this](V in_range) HWY_ATTR { return hn::Exp(d, in_range); });
  }
  HWY_INLINE V expm1(V a) const {
    return guarded(d, a, [this](V in_range) HWY_ATTR { return hn::Expm1(d, in_range); });
  }
  HWY_INLINE V normal_cdf(V a) const {
    if constexpr (sizeof(T) == 4) {
      return normal_cdf_of_float(d, a);
    } else {  // double is for checking gradients: it need not be fast
      HWY_ALIGN T lanes[hn::MaxLanes(d)];
      hn::Store(a, d, lanes);
      for (T& lane : lanes) lane = ScalarMath<T>().normal_cdf(lane);
      return hn::Load(d, lanes);
    }
  }
  HWY_INLINE Condition less(V a, V b) const { return hn::Lt(a, b); }
  HWY_INLINE Condition less_equal(V a, V b) const { return hn::Le(a, b); }
  HWY_INLINE V select(Condition condition, V a, V b) const { return hn::IfThenElse(condition, a, b); }
};

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
