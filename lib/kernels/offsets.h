#pragma once

#include <cstdint>
#include <span>

#include "kernels/arguments.h"

namespace samplenorm::kernels {

/// Where the points are within each channel of a contiguous tensor, written to the begin of `memory`.
inline std::span<const int64_t> offsets_of(const Layout& in, Points points, std::span<int64_t> memory) {
  const int64_t map = in.points();
  int64_t row_begin = 0, row_offset = 0;  // of the point before: most points are in the same row as that
  for (int64_t i = 0; i < points.count; ++i) {
    const int64_t number = points[i];
    if (number < row_begin || number >= row_begin + map) {
      const int64_t row = number / map;
      row_begin = row * map;
      row_offset = row * in.row_stride;
    }
    memory[static_cast<size_t>(i)] = row_offset + number - row_begin;
  }
  return memory.first(static_cast<size_t>(points.count));
}

/// Points that are looked at together to see whether they lie side by side.
inline constexpr int kNeighbours = 8;
inline bool are_neighbours(const int64_t* offsets) {
  bool yes = true;
  for (int i = 1; i < kNeighbours; ++i) yes &= offsets[i] == offsets[0] + i;
  return yes;
}

}  // namespace samplenorm::kernels
