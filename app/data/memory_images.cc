#include "data/memory_images.h"

#include <fmt/format.h>

#include "samplenorm/error.h"

namespace samplenorm::data {

MemoryImages::MemoryImages(int64_t height, int64_t width, int64_t channels, std::vector<uint8_t> bytes,
                           std::vector<uint8_t> labels)
    : height_(height), width_(width), channels_(channels), bytes_(std::move(bytes)), labels_(std::move(labels)) {
  if (static_cast<int64_t>(bytes_.size()) != size() * height * width * channels) {
    throw Error(fmt::format("MemoryImages: expected {} x {} x {} x {} bytes, got {}", labels_.size(), height, width,
                            channels, bytes_.size()));
  }
}

std::optional<Image> MemoryImages::image(int64_t index, int64_t) const {
  const int64_t length = height_ * width_ * channels_;
  const auto begin = bytes_.begin() + index * length;
  return Image{height_, width_, channels_, {begin, begin + length}};
}

}  // namespace samplenorm::data
