#include "samplers/method.h"
#include "samplers/sizes.h"

namespace samplenorm {
namespace {

std::vector<Box> first_rows(const Shape& shape, Ratio ratio, Stream&) {
  const int64_t begin = shape.virtual_rows;
  return {shape.all_points_of({begin, begin + share_of(shape.rows, ratio)})};
}

}  // namespace

extern const Method naive_sampling;
const Method naive_sampling = {
    "NS",  "naive sampling", "the first a of b rows, the same in every layer, for ever", Mixing::kReal, true,
    false, first_rows};

}  // namespace samplenorm
