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
  constexpr int64_t kMostPointBlocks = 128, kMostRowBlocks = 32, kFewestElements = 1 << 16;
  if (!is_channels_last(in)) {
    const int64_t count = std::clamp<int64_t>(256 / in.channels, 1, kMostRowBlocks);
    return {in.rows, (in.rows + count - 1) / count};
  }
  const int64_t points = in.rows * in.points();
  const int64_t fewest = std::clamp<int64_t>(kFewestElements / in.channels, 16, 256);
  return {points, std::max(fewest, (points + kMostPointBlocks - 1) / kMostPointBlocks)};
}

/// Blocks of a sample's points.
inline constexpr int64_t kMostSampleBlocks = 64;
inline Blocks sample_blocks(int64_t points) {
  constexpr int64_t kFewestPoints = 256;
  return {points, std::max(kFewestPoints, (points + kMostSampleBlocks - 1) / kMostSampleBlocks)};
}

/// From one line of sums, a double for each channel, to the next: an odd number of cache lines. Lines a multiple of
/// 4 KB apart would fall into the same few places of the cache.
inline int64_t padded_line(int64_t channels) { return ((channels + 7) / 8 | 1) * 8; }

/// Two sums a channel from a workspace of one pair of lines a block, `line` apart, added in the order of blocks.
inline void add_blocks(std::span<const double> workspace, int64_t blocks, int64_t line, std::span<double> first,
                       std::span<double> second) {
  std::ranges::fill(first, 0);
  std::ranges::fill(second, 0);
  const double* from = workspace.data();
  for (int64_t block = 0; block < blocks; ++block)
    for (const std::span<double> sums : {first, second}) {
      for (size_t c = 0; c < sums.size(); ++c) sums[c] += from[c];
      from += line;
    }
}
inline void add_blocks(std::span<const double> workspace, int64_t blocks, std::span<double> first,
                       std::span<double> second) {
  add_blocks(workspace, blocks, std::ssize(first), first, second);
}

}  // namespace samplenorm::kernels
