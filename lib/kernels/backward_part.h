#pragma once

#include <algorithm>
#include <cstdint>

namespace samplenorm::kernels {

/// What of a tensor one call of backward works on: points, or the maps of some rows and channels.
struct Part {
  int64_t begin, end;                          ///< points, or rows
  int64_t first_channel = 0, end_channel = 0;  ///< for maps
  double* sum_dy;                              ///< of this part, overwritten; one for each channel of the tensor
  double* sum_dy_x;
  bool streamed;

  void clear_sums(int64_t first, int64_t last) const {
    std::fill(sum_dy + first, sum_dy + last, 0.0);
    std::fill(sum_dy_x + first, sum_dy_x + last, 0.0);
  }
};

/// Sums of this many terms stay in Compute<T>; then they go to double.
inline constexpr int64_t kPointsToDouble = 256;

}  // namespace samplenorm::kernels
