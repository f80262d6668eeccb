#pragma once

// The blocks over which sums are taken. The shape alone decides them; the number of threads does not.

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/arguments.h"

namespace samplenorm::kernels {

/// [0, items) in blocks of `size`.
struct Blocks {
  int64_t items;
  int64_t size;

  int64_t count() const { return (items + size - 1) / size; }
  int64_t begin(int64_t block) const { return std::min(items, block * size); }
  int64_t end(int64_t block) const { return begin(block + 1); }
};

/// Blocks of points for channels last, of rows otherwise: enough for many threads, few enough to be added up quickly.
/// The channels of a block of rows are divided among threads, too.
inline Blocks sum_blocks(const Layout& in) {
  constexpr int64_t kMostPointBlocks = 128, kMostRowBlocks = 32, kFewestPoints = 256;
  if (!is_channels_last(in)) {
    const int64_t count = std::clamp<int64_t>(256 / in.channels, 1, kMostRowBlocks);
    return {in.rows, (in.rows + count - 1) / count};
  }
  const int64_t points = in.rows * in.points();
  return {points, std::max(kFewestPoints, (points + kMostPointBlocks - 1) / kMostPointBlocks)};
}

/// Blocks of a group's points. A block takes the runs that begin in it.
inline constexpr int64_t kMostRunBlocks = 64;
inline Blocks run_blocks(int64_t points) {
  constexpr int64_t kFewestPoints = 256;
  return {points, std::max(kFewestPoints, (points + kMostRunBlocks - 1) / kMostRunBlocks)};
}

/// Two sums a channel from a workspace of one pair of lines a block, added in the order of blocks.
inline void add_blocks(std::span<const double> workspace, int64_t blocks, std::span<double> first,
                       std::span<double> second) {
  std::ranges::fill(first, 0);
  std::ranges::fill(second, 0);
  const double* line = workspace.data();
  for (int64_t block = 0; block < blocks; ++block) {
    for (double& sum : first) sum += *line++;
    for (double& sum : second) sum += *line++;
  }
}

}  // namespace samplenorm::kernels
