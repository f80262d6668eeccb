#pragma once

// The arithmetic of formula.h on plain numbers.

#include <cmath>

namespace samplenorm {

template <class T>
struct ScalarMath {
  T constant(double value) const { return static_cast<T>(value); }
  T add(T a, T b) const { return a + b; }
  T sub(T a, T b) const { return a - b; }
  T mul(T a, T b) const { return a * b; }
  T div(T a, T b) const { return a / b; }
  T neg(T a) const { return -a; }
  T exp(T a) const { return std::exp(a); }
  T expm1(T a) const { return std::expm1(a); }
  T normal_cdf(T a) const {
    constexpr double kSqrtHalf = 0.70710678118654752440;
    return static_cast<T>(0.5 * std::erfc(-kSqrtHalf * static_cast<double>(a)));
  }
  bool less(T a, T b) const { return a < b; }
  bool less_equal(T a, T b) const { return a <= b; }
  T select(bool condition, T a, T b) const { return condition ? a : b; }
};

}  // namespace samplenorm
