#include <algorithm>
#include <set>
#include <string>

#include "samplers/method.h"
#include "samplers/nodes.h"

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

double weight_of(const Method& method, const Spec& spec) {
  if (spec.methods.size() == 1) return 1;
  return method.mixing == Mixing::kVirtual ? spec.beta : 1 - spec.beta;
}

void check(const Spec& spec, const Shape& shape, const Key& key) {
  const auto fail = [&](const std::string& expected) {
    throw Error("cannot sample '" + to_string(spec) + "': expected " + expected + ", got none");
  };
  if (shape.map_points() < 1) fail("points in the map");
  if (key.ranks > 1) return;  // others may have the rows that are missing here
  if (shape.rows < 1) fail("real rows behind the " + std::to_string(shape.virtual_rows) + " virtual ones");
  for (const MethodSpec& part : spec.methods) {
    const Method& method = method_of(part);
    const bool needs_virtual_rows = method.mixing == Mixing::kVirtual && weight_of(method, spec) > 0;
    if (needs_virtual_rows && shape.virtual_rows < 1) fail("virtual rows before the real ones");
  }
}

/// Whether this process has rows of the method, and is to give them.
bool has_part(const Method& method, const Spec& spec, const Shape& shape, const Key& key) {
  const int64_t rows = method.mixing == Mixing::kVirtual ? shape.virtual_rows : shape.rows;
  return rows > 0 && std::ranges::count(ranks_of(method, spec.nodes, key), static_cast<int>(key.rank)) > 0;
}

}  // namespace

Sample draw(const Spec& spec, const Shape& shape, const Key& key) {
  check(spec, shape, key);
  Stream stream = stream_for(spec.redraw, key);
  Sample sample;
  for (const MethodSpec& part : spec.methods) {
    const Method& method = method_of(part);
    const double weight = weight_of(method, spec);
    if (weight == 0) continue;
    sample.groups.push_back({weight, {}});
    if (has_part(method, spec, shape, key)) sample.groups.back().boxes = method.boxes(shape, part.ratio, stream);
  }
  return sample;
}

int64_t most_points(const Spec& spec, const Shape& shape) {
  int64_t points = 0;
  for (const MethodSpec& part : spec.methods) {
    const Method& method = method_of(part);
    const int64_t rows = method.mixing == Mixing::kVirtual ? shape.virtual_rows : shape.rows;
    if (weight_of(method, spec) == 0 || rows == 0) continue;
    Stream any = stream_for(spec.redraw, {});
    points += method.most_points ? method.most_points(shape, part.ratio)
                                 : Group{1, method.boxes(shape, part.ratio, any)}.points();
  }
  return points;
}

std::vector<int> contributors(const Spec& spec, const Key& key) {
  std::set<int> all;
  for (const MethodSpec& part : spec.methods) {
    const Method& method = method_of(part);
    if (weight_of(method, spec) > 0) all.merge(ranks_of(method, spec.nodes, key));
  }
  return {all.begin(), all.end()};
}

double sampled_fraction(const Sample& sample, const Shape& shape) {
  int64_t points = 0;
  for (const Group& group : sample.groups) points += group.points();
  return static_cast<double>(points) / static_cast<double>(shape.all_rows() * shape.map_points());
}

}  // namespace samplenorm
