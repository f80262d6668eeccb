#include "samplers/method.h"
#include "samplers/permutation.h"
#include "samplers/sizes.h"

namespace samplenorm {
namespace {

std::vector<Box> scattered_points(const Shape& shape, Ratio ratio, Stream& stream) {
  const int64_t map = shape.map_points();
  const int64_t all = shape.rows * map;
  const int64_t count = share_of(all, ratio);
  if (count == all) return {shape.all_points_of({shape.virtual_rows, shape.all_rows()})};
  const std::vector<int64_t> chosen = random_permutation(all, stream, count);

  std::vector<Box> boxes;
  for (const int64_t position : chosen) {
    const auto single = [](int64_t index) { return Range{index, index + 1}; };
    const int64_t point = position % map;
    boxes.push_back({single(shape.virtual_rows + position / map), single(point / (shape.height * shape.width)),
                     single(point / shape.width % shape.height), single(point % shape.width)});
  }
  return boxes;
}

}  // namespace

extern const Method fully_random;
const Method fully_random = {"FRS",
                             "fully random sampling",
                             "a/b of all points, scattered over rows and map (a comparison: slow by nature)",
                             Mixing::kNever,
                             true,
                             true,
                             scattered_points};

}  // namespace samplenorm
