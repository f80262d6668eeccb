#pragma once

// Points of an activation tensor as a plain list of places, shared by all channels or another one for each, and the
// sums over them by one plain loop: what patterns cost by themselves, whatever kernels make of them.

#include <torch/types.h>

#include <string>
#include <vector>

namespace samplenorm::study {

struct PlacesOptions {
  std::string pattern;       ///< its name
  std::string norm;          ///< the method that has this pattern, e.g. "FS-1/32"
  bool per_channel = false;  ///< a draw of its own for every channel
  bool each_step = false;    ///< drawn anew each time
};

/// Places (row * height + h) * width + w, in the order of memory; one list, or one for each channel.
struct Places {
  std::vector<std::vector<int64_t>> lists;
};

/// Of a tensor of sizes (N, C, H, W).
Places draw_places(const PlacesOptions& options, torch::IntArrayRef sizes, uint64_t step);

/// Means and (biased) variances, each (C), of the points at the places of a float32 tensor, contiguous or
/// channels_last.
struct PlaceStatistics {
  std::vector<double> mean;
  std::vector<double> variance;
};
PlaceStatistics gather_statistics(const torch::Tensor& x, const Places& places);

}  // namespace samplenorm::study
