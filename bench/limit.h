#pragma once

// The limit of a layer: loops that move the bytes which a sampled and fused layer has to move at least, and do next to
// nothing with them. As fast as we can write them, on all threads, for any instruction set.

#include <cstdint>

namespace samplenorm::bench {

enum class Stores {
  kOrdinary,   ///< through the caches, which read a line before they write it
  kStreaming,  ///< past the caches, whole lines at once: better for what does not fit into them
};

// All arrays have `count` values, begin at a multiple of 64 bytes and do not overlap.

/// to = from.
void copy(const float* from, float* to, int64_t count, Stores stores);
/// sum = a + b: forward with a residual, and backward (dy and x to dx).
void triad(const float* a, const float* b, float* sum, int64_t count, Stores stores);
/// sum = a + b and copy_of_a = a: backward with a residual (dy and x to dx and the residual's gradient).
void triad_and_copy(const float* a, const float* b, float* sum, float* copy_of_a, int64_t count, Stores stores);

}  // namespace samplenorm::bench
