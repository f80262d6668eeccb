#include "samplers/method.h"
#include "samplers/sizes.h"

namespace samplenorm {
namespace {

std::vector<Box> consecutive_rows(const Shape& shape, Ratio ratio, Stream& stream) {
  const int64_t count = share_of(shape.rows, ratio);
  const auto places = static_cast<uint64_t>(shape.rows - count + 1);
  const int64_t begin = shape.virtual_rows + static_cast<int64_t>(stream.below(places));
  return {shape.all_points_of({begin, begin + count})};
}

}  // namespace

extern const Method batch_sampling;
const Method batch_sampling = {"BS",
                               "batch sampling",
                               "a of b rows, consecutive, from another begin in every layer",
                               Mixing::kReal,
                               true,
                               true,
                               consecutive_rows,
                               true};

}  // namespace samplenorm
