#include "core/runs.h"

#include <algorithm>

namespace samplenorm {
namespace {

bool is_whole(const Range& range, int64_t length) {
  return range == Range{0, length} || (length == 1 && range.size() == 1);
}

class Collector {
 public:
  void add(int64_t row, int64_t point, int64_t count, int64_t step) {
    while (count > 0) {
      const int64_t part = std::min(count, kLongestRun);
      runs_.push_back({row, point, part, part == 1 ? 1 : step, points_});
      points_ += part;
      point += part * step;
      count -= part;
    }
  }
  std::vector<Run> take() { return std::move(runs_); }

 private:
  std::vector<Run> runs_;
  int64_t points_ = 0;
};

}  // namespace

std::vector<Run> runs_of(const Group& group, const Shape& shape) {
  Collector collector;
  for (const Box& box : group.boxes) {
    // Whole lines of the map follow each other without a gap, and so do whole planes of a volume.
    const bool whole_lines = is_whole(box.widths, shape.width) && box.heights.step == 1;
    const bool whole_planes = whole_lines && is_whole(box.heights, shape.height) && box.depths.step == 1;
    for (int64_t n = box.rows.begin; n < box.rows.end; n += box.rows.step) {
      if (whole_planes) {
        const int64_t plane = shape.height * shape.width;
        collector.add(n, box.depths.begin * plane, box.depths.size() * plane, 1);
        continue;
      }
      for (int64_t d = box.depths.begin; d < box.depths.end; d += box.depths.step) {
        if (whole_lines) {
          collector.add(n, (d * shape.height + box.heights.begin) * shape.width, box.heights.size() * shape.width, 1);
          continue;
        }
        for (int64_t h = box.heights.begin; h < box.heights.end; h += box.heights.step)
          collector.add(n, (d * shape.height + h) * shape.width + box.widths.begin, box.widths.size(), box.widths.step);
      }
    }
  }
  return collector.take();
}

bool is_everything(const Group& group, const Shape& shape) {
  if (group.boxes.size() != 1) return false;
  const Box& box = group.boxes.front();
  return is_whole(box.rows, shape.all_rows()) && is_whole(box.depths, shape.depth) &&
         is_whole(box.heights, shape.height) && is_whole(box.widths, shape.width);
}

}  // namespace samplenorm
