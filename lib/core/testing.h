#pragma once

// For tests only: whether drawn numbers are spread as they should be.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>

namespace samplenorm {

/// Chi-squared test of `counts` against equal chances. The bound is Laurent and Massart's (2000, lemma 1) for a
/// probability of 1e-6 that a right generator exceeds it.
inline ::testing::AssertionResult looks_uniform(std::span<const int64_t> counts) {
  double total = 0;
  for (const int64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double chi_squared = 0;
  for (const int64_t count : counts) chi_squared += std::pow(static_cast<double>(count) - expected, 2) / expected;
  const double freedom = static_cast<double>(counts.size()) - 1;
  const double bound = freedom + 2 * std::sqrt(freedom * std::log(1e6)) + 2 * std::log(1e6);
  if (expected < 10) return ::testing::AssertionFailure() << "too few draws: " << expected << " for each outcome";
  if (!(chi_squared <= bound)) {
    return ::testing::AssertionFailure() << "chi-squared is " << chi_squared << ", expected at most " << bound;
  }
  return ::testing::AssertionSuccess();
}

/// Whether `value` is within five standard deviations of what it estimates.
inline ::testing::AssertionResult looks_like(double value, double expected, double deviation) {
  if (std::abs(value - expected) <= 5 * deviation) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << value << " is not " << expected << " +- 5 * " << deviation;
}

}  // namespace samplenorm
