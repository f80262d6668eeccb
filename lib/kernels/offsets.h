#pragma once

#include <cstdint>
#include <span>

#include "core/layout.h"
#include "core/runs.h"

namespace samplenorm::kernels {

inline int64_t points_in(std::span<const Run> runs) { return runs.back().first + runs.back().count; }

/// Where a group's points are within each channel of a contiguous tensor, written to the begin of `memory`.
inline std::span<const int64_t> offsets_of(const Layout& in, std::span<const Run> runs, std::span<int64_t> memory) {
  size_t next = 0;
  for (const Run& run : runs)
    for (int64_t i = 0; i < run.count; ++i) memory[next++] = run.row * in.row_stride + run.point + i * run.step;
  return memory.first(next);
}

}  // namespace samplenorm::kernels
