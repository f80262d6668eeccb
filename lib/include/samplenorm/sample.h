#pragma once

// What a layer reads to get its statistics, as plain data: weighted groups of boxes.
// A sample is a pure function of (notation, shape, key); see draw() in notation.h.

#include <cstdint>
#include <vector>

namespace samplenorm {

/// The positions begin, begin + step, ... that are smaller than end. Like a Python slice.
struct Range {
  int64_t begin = 0;
  int64_t end = 1;
  int64_t step = 1;

  int64_t size() const { return end <= begin ? 0 : (end - begin + step - 1) / step; }
  bool operator==(const Range&) const = default;
};

/// A regular block of an activation tensor, always with all channels. Maps of fewer dimensions have depth 1 (and height
/// 1).
struct Box {
  Range rows;
  Range depths;
  Range heights;
  Range widths;

  int64_t points() const { return rows.size() * depths.size() * heights.size() * widths.size(); }
  bool operator==(const Box&) const = default;
};

/// Boxes pooled into one mean and one (biased) variance per channel.
struct Group {
  double weight = 1;
  std::vector<Box> boxes;

  int64_t points() const {
    int64_t sum = 0;
    for (const Box& box : boxes) sum += box.points();
    return sum;
  }
  bool operator==(const Group&) const = default;
};

/// The statistics of a layer are the weighted sums of its groups' means and of their variances; the weights add up
/// to 1.
struct Sample {
  std::vector<Group> groups;

  bool operator==(const Sample&) const = default;
};

/// The part of a tensor's shape that a sampler sees: rows (virtual ones first) and the map of one channel.
struct Shape {
  int64_t virtual_rows = 0;  ///< rows [0, virtual_rows) come from a VirtualBatch
  int64_t rows = 1;          ///< real rows, which follow the virtual ones
  int64_t depth = 1;
  int64_t height = 1;
  int64_t width = 1;
  int64_t first_row = 0;  ///< number of the first real row among those of all processes, with Sync

  int64_t all_rows() const { return virtual_rows + rows; }
  int64_t map_points() const { return depth * height * width; }
  Box all_points_of(Range which_rows) const { return {which_rows, {0, depth}, {0, height}, {0, width}}; }
  bool operator==(const Shape&) const = default;
};

/// What a draw depends on, and all that it depends on: there is no generator with a state.
struct Key {
  uint64_t seed = 0;
  uint64_t layer = 0;
  uint64_t epoch = 0;
  uint64_t step = 0;   ///< used only with redraw=step
  uint64_t chunk = 0;  ///< which statistic batch of the tensor, with stat_batch
  uint64_t rank = 0;   ///< with Sync: the process whose part of the sample is drawn
  uint64_t ranks = 1;  ///< processes that have one sample together
};

}  // namespace samplenorm
