#pragma once

#include <cstdint>
#include <vector>

namespace samplenorm::data {

/// Bytes, or values of their range, to inputs: (value / 255 - mean) / deviation.
class Normalizer {
 public:
  /// `width`: pixels in the longest run. Throws Error for a deviation that is not positive.
  Normalizer(const std::vector<double>& mean, const std::vector<double>& deviation, int64_t width);

  int64_t channels() const { return channels_; }

  /// A run of `count` interleaved values (uint8_t or float) that begins with the first channel.
  template <class Value>
  void run(const Value* from, int64_t count, float* to) const {
    // The factors are repeated over the run, so that this loop has no channels in it and vectorizes.
    const float* scale = scale_.data();
    const float* shift = shift_.data();
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale[i] + shift[i];
  }

 private:
  int64_t channels_;
  std::vector<float> scale_;
  std::vector<float> shift_;
};

}  // namespace samplenorm::data
