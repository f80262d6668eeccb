#include "core/points.h"

#include <cstddef>

namespace samplenorm {
namespace {

bool is_whole(const Range& range, int64_t length) {
  return range == Range{0, length} || (length == 1 && range.size() == 1);
}

}  // namespace

std::vector<int64_t> point_numbers(const Group& group, const Shape& shape, int64_t first_row) {
  std::vector<int64_t> numbers;
  numbers.reserve(static_cast<size_t>(group.points()));
  for_each_point(group, shape.height, shape.width, [&](int64_t row, int64_t point) {
    numbers.push_back((first_row + row) * shape.map_points() + point);
  });
  return numbers;
}

bool is_everything(const Group& group, const Shape& shape) {
  if (group.boxes.size() != 1) return false;
  const Box& box = group.boxes.front();
  return is_whole(box.rows, shape.all_rows()) && is_whole(box.depths, shape.depth) &&
         is_whole(box.heights, shape.height) && is_whole(box.widths, shape.width);
}

}  // namespace samplenorm
