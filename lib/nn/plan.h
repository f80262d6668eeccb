#pragma once

// What one call has to do, found from sizes alone: the chunks of rows that are normalized together, and the sample of
// each.

#include <ATen/core/Tensor.h>

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/runs.h"
#include "samplenorm/notation.h"

namespace samplenorm {

struct Chunk {
  int64_t first_row = 0;
  Shape shape;
  Sample sample;                       ///< rows count from first_row
  std::vector<std::vector<Run>> runs;  ///< of each group
  std::vector<int64_t> first_in_copy;  ///< of each group: points before it in the copy of the sample
  bool everything = false;             ///< one group of all points, whatever the key: nothing is copied

  bool has_rows() const { return shape.all_rows() > 0; }
};

/// What the sizes of an operator's results depend on. It is the same for every key, so that they can be known before it
/// is.
struct PlanSizes {
  int64_t chunks = 1;
  int64_t groups = 1;         ///< in the sample of every chunk
  int64_t room_for_copy = 0;  ///< points of the largest copy of a sample; 0 where the statistics are of all points
};
/// Checks that there are 2 to 5 dimensions and, but for sync, rows behind the virtual ones.
PlanSizes plan_sizes(at::IntArrayRef sizes, const Spec& spec, bool sync);

struct Plan {
  PlanSizes sizes;
  std::vector<Chunk> chunks;      ///< one without a sample for an empty tensor
  int64_t copied_points = 0;      ///< in the copy of the sample, over all chunks and groups
  std::vector<int> contributors;  ///< with Sync: processes that have a part in the sample
};

/// {seed, layer, epoch, step, rank, ranks}
using KeyNumbers = std::array<int64_t, 6>;

/// With `sync` it is the plan of one process's part of the sample; without, a rank counts its chunks behind those of
/// the ranks before it. Checks that there are 2 to 5 dimensions and, but for sync, something to sample and more than
/// one value of it per channel. Plans are remembered: a layer asks for the same one at every step of an epoch.
std::shared_ptr<const Plan> make_plan(at::IntArrayRef sizes, std::string_view notation, const KeyNumbers& key,
                                      bool sync);
Plan make_plan(at::IntArrayRef sizes, const Spec& spec, const Key& key, bool sync = false);

/// Points of the groups of a sample, of all processes with Sync: each of them must have some, and one more than one.
void check_values_per_channel(std::span<const double> points, at::IntArrayRef sizes, std::string_view notation);

}  // namespace samplenorm
