#include <string>

#include "samplers/method.h"

namespace samplenorm {
namespace {

Stream stream_for(Redraw redraw, const Key& key) {
  switch (redraw) {
    case Redraw::kStep:
      return {key.seed, Purpose::kSamplePerStep, key.layer, key.step, key.chunk};
    case Redraw::kNever:
      return {key.seed, Purpose::kSamplePerEpoch, key.layer, 0, key.chunk};
    case Redraw::kEpoch:
      break;
  }
  return {key.seed, Purpose::kSamplePerEpoch, key.layer, key.epoch, key.chunk};
}

}  // namespace

Sample draw(const Spec& spec, const Shape& shape, const Key& key) {
  if (shape.rows < 1)
    throw Error("cannot sample '" + to_string(spec) + "': expected real rows behind the " +
                std::to_string(shape.virtual_rows) + " virtual ones, got none");
  Stream stream = stream_for(spec.redraw, key);
  Sample sample;
  for (const MethodSpec& part : spec.methods) {
    const Method& method = *find_method(part.name);
    double weight = 1;
    if (spec.methods.size() > 1) weight = method.mixing == Mixing::kVirtual ? spec.beta : 1 - spec.beta;
    if (weight > 0) sample.groups.push_back({weight, method.boxes(shape, part.ratio, stream)});
  }
  return sample;
}

double sampled_fraction(const Sample& sample, const Shape& shape) {
  int64_t points = 0;
  for (const Group& group : sample.groups) points += group.points();
  return static_cast<double>(points) / static_cast<double>(shape.all_rows() * shape.map_points());
}

}  // namespace samplenorm
