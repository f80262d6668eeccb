#pragma once

#include <cstdint>
#include <vector>

#include "data/data_set.h"

namespace samplenorm::data {

/// Images of one size, decoded once and kept as bytes.
class MemoryImages : public ImageSet {
 public:
  /// `bytes`: image after image, each as rows of pixels of interleaved channels; one label for each image.
  MemoryImages(int64_t height, int64_t width, int64_t channels, std::vector<uint8_t> bytes,
               std::vector<uint8_t> labels);

  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  int64_t label(int64_t index) const override { return labels_[static_cast<size_t>(index)]; }
  std::optional<Image> image(int64_t index, int64_t least_side) const override;

 private:
  int64_t height_;
  int64_t width_;
  int64_t channels_;
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> labels_;
};

}  // namespace samplenorm::data
