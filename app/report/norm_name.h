#pragma once

#include <string>

namespace samplenorm::report {

/// A norm as the records spell it, taken apart far enough to find it whatever its ratio.
struct NormName {
  std::string text;    ///< "FS-1/64+VDN-2/128;decay=0.7"
  std::string method;  ///< "FS+VDN"; of "GN-8" it is "GN"
  double ratio;        ///< part of the data in the statistics: the sum of the fractions in the name, 1 without any
  bool has_options;
};

NormName norm_name(const std::string& text);

/// Ratios that the paper would call the same: a small map, or a batch that the ratio does not divide, shifts them.
bool same_ratio(double a, double b);

}  // namespace samplenorm::report
