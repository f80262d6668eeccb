#include "samplers/method.h"
#include "samplers/sizes.h"

namespace samplenorm {
namespace {

std::vector<Box> patch(const Shape& shape, Ratio ratio, Stream& stream) {
  const auto sides = nearest_sides(static_cast<double>(shape.map_points()) * ratio.value(), shape);
  const auto place = [&](int64_t length, int64_t side) {
    const auto begin = static_cast<int64_t>(stream.below(static_cast<uint64_t>(length - side + 1)));
    return Range{begin, begin + side};
  };
  Box box;
  box.rows = {shape.virtual_rows, shape.all_rows()};
  box.depths = place(shape.depth, sides[0]);
  box.heights = place(shape.height, sides[1]);
  box.widths = place(shape.width, sides[2]);
  return {box};
}

}  // namespace

extern const Method feature_sampling;
const Method feature_sampling = {"FS",
                                 "feature sampling",
                                 "a patch of a/b of the map in all rows, at another place in every layer",
                                 Mixing::kReal,
                                 true,
                                 true,
                                 patch};

}  // namespace samplenorm
