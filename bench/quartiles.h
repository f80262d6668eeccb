#pragma once

#include <vector>

namespace samplenorm::bench {

/// Middle and spread of measured times: they bear the outliers that a shared machine adds.
struct Quartiles {
  double first = 0;
  double median = 0;
  double third = 0;
};

/// `values` must not be empty.
Quartiles quartiles(std::vector<double> values);

/// The median of a[i] / b[i]: measured in the same round, both had the same noise.
double median_ratio(const std::vector<double>& a, const std::vector<double>& b);

/// For ratios. `values` must not be empty.
double geometric_mean(const std::vector<double>& values);

}  // namespace samplenorm::bench
