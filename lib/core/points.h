#pragma once

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

}  // namespace samplenorm
