#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/data_set.h"

namespace samplenorm::data {

struct ChannelStatistics {
  std::vector<double> mean;       ///< bytes counted as 0 to 1
  std::vector<double> deviation;  ///< biased
};

/// Over every pixel of every image that can be decoded; exact sums, so the order does not matter. Photographs count
/// with the pixels that `least_side` leaves them. Throws Error for a set without pixels.
ChannelStatistics channel_statistics(const ImageSet& set, int64_t channels, int64_t least_side = 0);

/// Images of each class.
std::vector<int64_t> class_counts(const ImageSet& set, int64_t classes);

/// SHA-256, in hexadecimal, of the bytes of a set in its order: for each image its label as one byte, then its channels
/// one after the other. For CIFAR-10 these are the bytes of its official files. Throws Error.
std::string half_digest(const ImageSet& set);

}  // namespace samplenorm::data
