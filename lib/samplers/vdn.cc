#include <algorithm>

#include "samplers/method.h"

namespace samplenorm {
namespace {

/// One virtual row of a fully connected layer is one point, which has no variance: a real row joins it.
std::vector<Box> virtual_rows(const Shape& shape, Ratio, Stream&) {
  const bool one_point = shape.virtual_rows * shape.map_points() == 1;
  return {shape.all_points_of({0, one_point ? std::min<int64_t>(2, shape.all_rows()) : shape.virtual_rows})};
}

}  // namespace

extern const Method virtual_dataset;
const Method virtual_dataset = {"VDN",
                                "virtual dataset normalization",
                                "a virtual rows, which a VirtualBatch puts before the real ones",
                                Mixing::kVirtual,
                                true,
                                false,
                                virtual_rows,
                                true};

}  // namespace samplenorm
