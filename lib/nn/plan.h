#pragma once

// What one call has to do, found on the host from sizes, notation and key alone: the chunks of rows that are normalized
// together, and the sample of each.

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "samplenorm/notation.h"

namespace samplenorm {

/// There must be 2 to 5 dimensions, and no statistic batches with Sync. All below check this.
void check_sizes(at::IntArrayRef sizes, const Spec& spec, bool sync);

/// What the sizes of results depend on: the same for every key, so that they are known before the key is.
struct PlanSizes {
  int64_t chunks = 1;
  int64_t groups = 1;  ///< in the sample of every chunk
  int64_t room = 0;    ///< points of the largest copy of the sample; 0 where every chunk is taken whole
};
/// But for sync, checks that there are rows after the virtual ones.
PlanSizes plan_sizes(at::IntArrayRef sizes, const Spec& spec, bool sync, int64_t ranks);

/// Rows that are normalized together, and their sample, whose rows count from first_row.
struct Chunk {
  int64_t first_row = 0;
  Shape shape;
  Sample sample;
};
/// The chunks of an input of these sizes; none of an empty one. With `sync`, one process's part of the sample; without,
/// a rank counts its chunks after those of the ranks before it. Checks what plan_sizes() does and, but for sync, that
/// there is more than one value per channel.
std::vector<Chunk> draw_chunks(at::IntArrayRef sizes, const Spec& spec, const Key& key, bool sync = false);

/// A draw as the steps (steps.h) take it.
class Plan {
 public:
  Plan(at::IntArrayRef sizes, const Spec& spec, const Key& key, bool sync);

  PlanSizes sizes;
  std::vector<int64_t> rows;      ///< the first row of each chunk, then the end of the last
  std::vector<int64_t> counts;    ///< points of each group of each chunk
  std::vector<double> weights;    ///< of the groups, the same in all chunks
  std::vector<int> contributors;  ///< with Sync: the processes that have a part in the sample
  int64_t map_points = 1;

  /// The points' numbers, row * map_points + place in the map; none where all chunks are whole. They are copied to a
  /// device once, without waiting for it.
  at::Tensor points_on(at::Device device) const;

 private:
  at::Tensor on_cpu_;
  mutable std::mutex mutex_;
  mutable std::vector<at::Tensor> elsewhere_;
};

/// parse(), remembered.
const Spec& parsed(std::string_view notation);

/// The plan for (notation, sizes, key). Plans are remembered, since a layer asks for the same one at every step of an
/// epoch; those that were not asked for the longest are forgotten.
std::shared_ptr<const Plan> find_plan(at::IntArrayRef sizes, std::string_view notation, Key key, bool sync);
/// How many plans are remembered, and the numbers of points in them.
struct PlanUse {
  size_t plans = 0;
  int64_t points = 0;
};
PlanUse plans_in_memory();

/// `points` are those of each group, of all processes with Sync: every group needs a point, and at least one of them
/// two.
void check_values_per_channel(std::span<const double> points, at::IntArrayRef sizes, std::string_view notation);

}  // namespace samplenorm
