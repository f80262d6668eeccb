#pragma once

#include <cstdint>
#include <span>

#include "kernels/arguments.h"

namespace samplenorm::kernels {

/// What of a sample one call of moments works on. Sums are of x minus the first point's x, which keeps their digits
/// where the mean is large.
struct MomentsPart {
  Points points;                     ///< all of the sample's
  std::span<const int64_t> offsets;  ///< theirs in contiguous memory, where they are listed or copied
  int64_t begin, end;                ///< which of the points
  int64_t first_channel, end_channel;
  double* sum;  ///< of this part, overwritten; one for each channel of the tensor
  double* sum_of_squares;
};

}  // namespace samplenorm::kernels
