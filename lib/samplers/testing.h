#pragma once

// For tests only: samples as lists of points.

#include <array>
#include <string_view>
#include <vector>

#include "samplenorm/notation.h"

namespace samplenorm {

/// {row, depth, height, width}
using Point = std::array<int64_t, 4>;

inline std::vector<int64_t> positions(Range range) {
  std::vector<int64_t> all;
  for (int64_t i = range.begin; i < range.end; i += range.step) all.push_back(i);
  return all;
}

inline std::vector<Point> points_of(const Group& group) {
  std::vector<Point> points;
  for (const Box& box : group.boxes)
    for (const int64_t n : positions(box.rows))
      for (const int64_t d : positions(box.depths))
        for (const int64_t h : positions(box.heights))
          for (const int64_t w : positions(box.widths)) points.push_back({n, d, h, w});
  return points;
}

/// The group of a method that is not a mix.
inline Group group_of(std::string_view notation, const Shape& shape, const Key& key = {}) {
  const Sample sample = draw(parse(notation), shape, key);
  return sample.groups.size() == 1 ? sample.groups[0] : Group{};
}

/// The box of a method that takes just one.
inline Box box_of(std::string_view notation, const Shape& shape, const Key& key = {}) {
  const Group group = group_of(notation, shape, key);
  return group.boxes.size() == 1 ? group.boxes[0] : Box{{-1, -1}, {}, {}, {}};
}

}  // namespace samplenorm
