#pragma once

#include <cstdint>
#include <vector>

#include "samplenorm/sample.h"

namespace samplenorm {

/// Calls visit(row, point) for every point of the group, box by box; `point` counts through a map of height x width.
template <class Visit>
void for_each_point(const Group& group, int64_t height, int64_t width, Visit visit) {
  for (const Box& box : group.boxes)
    for (int64_t n = box.rows.begin; n < box.rows.end; n += box.rows.step)
      for (int64_t d = box.depths.begin; d < box.depths.end; d += box.depths.step)
        for (int64_t h = box.heights.begin; h < box.heights.end; h += box.heights.step)
          for (int64_t w = box.widths.begin; w < box.widths.end; w += box.widths.step)
            visit(n, (d * height + h) * width + w);
}

/// The numbers of the group's points in the order of for_each_point(). A point's number is row * map_points() + place
/// in the map, where row 0 of the group is row `first_row` of the tensor.
std::vector<int64_t> point_numbers(const Group& group, const Shape& shape, int64_t first_row);

/// Whether the group is the whole tensor, each point once.
bool is_everything(const Group& group, const Shape& shape);

}  // namespace samplenorm
