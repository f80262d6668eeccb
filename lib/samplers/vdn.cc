#include "samplers/method.h"

namespace samplenorm {
namespace {

std::vector<Box> virtual_rows(const Shape& shape, Ratio, Stream&) {
  return {shape.all_points_of({0, shape.virtual_rows})};
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
