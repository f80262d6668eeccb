#pragma once

#include <cstdint>
#include <vector>

#include "samplenorm/sample.h"

namespace samplenorm {

/// Some of a group's points as kernels walk through them: `count` points of one row's map, `step` apart.
struct Run {
  int64_t row = 0;
  int64_t point = 0;  ///< within the map, depth by height by width
  int64_t count = 0;
  int64_t step = 1;
  int64_t first = 0;  ///< points of the group before this run

  bool operator==(const Run&) const = default;
};

/// No run has more points.
inline constexpr int64_t kLongestRun = 1024;

/// A group's points in the order of for_each_point(), in as few runs as that allows.
std::vector<Run> runs_of(const Group& group, const Shape& shape);

/// Whether the group is the whole tensor, each point once.
bool is_everything(const Group& group, const Shape& shape);

}  // namespace samplenorm
