#pragma once

#include <cstdint>

namespace samplenorm {

/// Where the elements of an activation tensor lie: row n, channel c and map point s are at
/// n * row_stride + c * channel_stride + s * point_stride. Rows are dense: one row is channels * points() elements in a
/// block, channels last (channel_stride 1) or contiguous (point_stride 1).
struct Layout {
  int64_t rows = 0;
  int64_t channels = 0;
  int64_t depth = 1;
  int64_t height = 1;
  int64_t width = 1;
  int64_t row_stride = 0;
  int64_t channel_stride = 0;
  int64_t point_stride = 0;

  int64_t points() const { return depth * height * width; }
  int64_t row_elements() const { return channels * points(); }

  /// The same for `count` of the rows.
  Layout with_rows(int64_t count) const {
    Layout part = *this;
    part.rows = count;
    return part;
  }

  static Layout contiguous(int64_t rows, int64_t channels, int64_t depth, int64_t height, int64_t width) {
    const int64_t points = depth * height * width;
    return {rows, channels, depth, height, width, channels * points, points, 1};
  }
  static Layout channels_last(int64_t rows, int64_t channels, int64_t depth, int64_t height, int64_t width) {
    return {rows, channels, depth, height, width, channels * depth * height * width, 1, channels};
  }
};

}  // namespace samplenorm
