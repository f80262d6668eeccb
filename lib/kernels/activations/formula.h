#pragma once

// What an activation's file consists of, and the arithmetic that it is written in.
//
// A formula is written once and compiled for vectors of every instruction set (vector_math-inl.h), for plain numbers
// (scalar_math.h) and for tensors (lib/nn). It is a template over the arithmetic M, which has, for values a and b and
// conditions c:
//
//   m.constant(double)                                    a value from a number
//   m.add(a, b), m.sub(a, b), m.mul(a, b), m.div(a, b), m.neg(a)
//   m.exp(a), m.expm1(a)                                  e^a, e^a - 1
//   m.normal_cdf(a)                                       (1 + erf(a / sqrt(2))) / 2, precise for negative a, too
//   m.less(a, b), m.less_equal(a, b)                      conditions, false if a or b is NaN
//   m.select(c, a, b)                                     a where c holds, else b
//
// All of them pass NaN on and take infinity. The file of an activation is included within a namespace, once for each
// instruction set: it has no includes and no include guard. Values at kinks, at infinity and at NaN are torch's.

#include "kernels/activation.h"

namespace samplenorm {

/// What an activation does not say about itself. It has to have
///   static constexpr const char* kName;
///   template <class M, class V> static V value(const M& m, V z, V parameter);       // f(z)
///   template <class M, class V> static V derivative(const M& m, V z, V parameter);  // f'(z)
struct Formula {
  static constexpr Activation::Kind kKind = Activation::Kind::kOther;
  static constexpr bool kHasParameter = false;
  static constexpr double kDefaultParameter = 0;
  /// Whether f' is 1 or slope().
  static constexpr bool kPiecewiseLinear = false;
  static constexpr double kLimit = NAN;
  static constexpr double slope(double /*parameter*/) { return 0; }
};

}  // namespace samplenorm
