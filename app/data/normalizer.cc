#include "data/normalizer.h"

#include <fmt/format.h>

#include "samplenorm/error.h"

namespace samplenorm::data {

Normalizer::Normalizer(const std::vector<double>& mean, const std::vector<double>& deviation, int64_t width)
    : channels_(static_cast<int64_t>(mean.size())) {
  if (mean.size() != deviation.size() || mean.empty()) {
    throw Error(
        fmt::format("expected a mean and a deviation for each channel, got {} and {}", mean.size(), deviation.size()));
  }
  for (int64_t x = 0; x < width; ++x) {
    for (size_t c = 0; c < mean.size(); ++c) {
      if (!(deviation[c] > 0)) {
        throw Error(fmt::format("channel {}: expected a deviation above 0, got {}", c, deviation[c]));
      }
      scale_.push_back(static_cast<float>(1 / (255 * deviation[c])));
      shift_.push_back(static_cast<float>(-mean[c] / deviation[c]));
    }
  }
}

}  // namespace samplenorm::data
