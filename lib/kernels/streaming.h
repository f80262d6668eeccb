#pragma once

// When to write around the cache, and where: only whole lines, each finished at once.

#include <cstdint>

#include "kernels/arguments.h"
#include "kernels/parallel.h"

namespace samplenorm::kernels {

/// A layer alone gains from streaming earlier, but what is streamed is not in the cache when the next convolution reads
/// it. Measured on whole steps of MobileNetV2 with 32 MB of last-level cache, as speed to the original network: 1.17
/// with a bound of 4 MB, 1.19 with 8, 1.22 with 16, 1.21 with 32, 1.20 without streaming. A constant: what systems say
/// of the size of their caches is not to be relied on in virtual machines. One bound for y and for gradients: tensors
/// of a size take each other's places, and an ordinary store into a place that was streamed before has to read it from
/// memory first.
inline constexpr int64_t kBytesToStream = 16 << 20;

/// Whether every line can be streamed whole. Bytes are those of the tensor.
template <class T>
bool worth_streaming(int64_t bytes, const Layout& layout, const T* to) {
  if (bytes < kBytesToStream) return false;
  if (!is_channels_last(layout)) return layout.points() * static_cast<int64_t>(sizeof(T)) >= 4 * kLine;
  const auto whole_lines = [](int64_t elements) { return elements * static_cast<int64_t>(sizeof(T)) % kLine == 0; };
  return reinterpret_cast<uintptr_t>(to) % kLine == 0 && whole_lines(layout.channels) &&
         whole_lines(point_step(layout));
}

template <class T>
bool same_place_in_line(const T* a, const T* b) {
  return reinterpret_cast<uintptr_t>(a) % kLine == reinterpret_cast<uintptr_t>(b) % kLine;
}

}  // namespace samplenorm::kernels
