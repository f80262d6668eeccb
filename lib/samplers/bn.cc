#include "samplers/method.h"

namespace samplenorm {
namespace {

std::vector<Box> everything(const Shape& shape, Ratio, Stream&) { return {shape.all_points_of({0, shape.all_rows()})}; }

}  // namespace

extern const Method batch_norm;
const Method batch_norm = {"BN", "batch normalization", "every point", Mixing::kNever, false, false, everything};

}  // namespace samplenorm
