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

int64_t rows_for(const Method& method, const Shape& shape) {
  return method.mixing == Mixing::kVirtual ? shape.virtual_rows : shape.rows;
}

/// Whether this process has rows of the method, and is to give them.
bool has_part(const Method& method, const Spec& spec, const Shape& shape, const Key& key) {
  return rows_for(method, shape) > 0 &&
         std::ranges::count(ranks_of(method, spec.nodes, key), static_cast<int>(key.rank)) > 0;
}

/// The ratio that the notation asks for, or where that gives fewer points than `least`, one that gives them; 1/1 where
/// the layer has fewer. The samples of several processes are one: each is taken to have as many rows as this one.
Ratio ratio_for(const MethodSpec& part, const Spec& spec, const Shape& shape, uint64_t ranks) {
  const Method& method = method_of(part);
  if (!method.takes_ratio || method.mixing == Mixing::kVirtual) return part.ratio;
  const auto all_ranks = static_cast<int64_t>(ranks);
  const int64_t processes = method.few_nodes_suffice ? spec.nodes.among(all_ranks) : all_ranks;
  Shape whole = shape;
  whole.rows *= processes;
  // A lattice continues from process to process. The other methods round the number of points in each process.
  const auto fewest = [&](Ratio ratio) {
    return method.points ? method.points(whole, ratio).fewest : processes * points_of(method, shape, ratio).fewest;
  };
  const int64_t all = whole.rows * whole.map_points();
  const int64_t least = std::min(spec.least.value_or(method.least), all);
  Ratio ratio = part.ratio;
  // Counted apart from the ratio, whose rounding could keep it from growing.
  auto wanted = static_cast<int64_t>(ratio.value() * static_cast<double>(all));
  while (fewest(ratio) < least) {
    wanted = std::max(least, wanted + 1 + wanted / 16);
    if (wanted >= all) return {1, 1};
    ratio = {wanted, all};
  }
  return ratio;
}

/// Memory is laid out by points_of(), before the draw: a method that draws more points would write past it.
void check_points(const Method& method, const Spec& spec, const Shape& shape, Ratio ratio, int64_t points) {
  const auto [fewest, most] = points_of(method, shape, ratio);
  if (points >= fewest && points <= most) return;
  std::string expected = std::to_string(fewest);
  if (most > fewest) expected += " to " + std::to_string(most);
  throw Error(
      "cannot sample '" + to_string(spec) + "': " + std::string(method.name) + " drew " + std::to_string(points) +
      " points where other draws have " + expected +
      "; the number of points must not depend on the draw, or Method::points has to say how (samplers/method.h)");
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
    if (!has_part(method, spec, shape, key)) continue;
    const Ratio ratio = ratio_for(part, spec, shape, key.ranks);
    sample.groups.back().boxes = method.boxes(shape, ratio, stream);
    check_points(method, spec, shape, ratio, sample.groups.back().points());
  }
  return sample;
}

int64_t most_points(const Spec& spec, const Shape& shape, uint64_t ranks) {
  int64_t points = 0;
  for (const MethodSpec& part : spec.methods) {
    const Method& method = method_of(part);
    if (weight_of(method, spec) == 0 || rows_for(method, shape) == 0) continue;
    points += points_of(method, shape, ratio_for(part, spec, shape, ranks)).most;
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
