#include "nn/plan.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "core/points.h"
#include "nn/operators.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace {

/// Of rows that are normalized together; virtual ones come first.
Shape shape_of(at::IntArrayRef sizes, int64_t rows, int64_t virtual_rows) {
  const Layout layout = layout_of(sizes, /*channels_last=*/false);
  return {virtual_rows, rows - virtual_rows, layout.depth, layout.height, layout.width};
}

void check_real_rows(const Shape& shape, int64_t least, at::IntArrayRef sizes, const Spec& spec) {
  TORCH_CHECK_VALUE(shape.rows >= least, "samplenorm: '", to_string(spec), "' expected real rows behind the ",
                    shape.virtual_rows, " virtual rows of each chunk, got input size ", sizes,
                    " (is there a VirtualBatch at the network's input?)");
}

/// The shapes of the chunks, in order; none of an empty input.
std::vector<Shape> chunk_shapes(at::IntArrayRef sizes, const Spec& spec) {
  std::vector<Shape> shapes;
  if (c10::multiply_integers(sizes) == 0) return shapes;
  const int64_t rows = sizes[0], virtual_rows = spec.virtual_rows();
  const int64_t chunk_rows = spec.stat_batch == 0 ? rows : std::min(rows, virtual_rows + spec.stat_batch);
  for (int64_t first = 0; first < rows; first += chunk_rows) {
    shapes.push_back(shape_of(sizes, std::min(chunk_rows, rows - first), virtual_rows));
    check_real_rows(shapes.back(), 1, sizes, spec);
  }
  return shapes;
}

/// Sync: one chunk, without rows too; the others are taken to have as many rows as this process.
Chunk chunk_of_process(at::IntArrayRef sizes, const Spec& spec, const Key& key) {
  Chunk chunk{0, shape_of(sizes, sizes[0], carries_virtual_rows(spec.nodes, key) ? spec.virtual_rows() : 0), {}};
  check_real_rows(chunk.shape, 0, sizes, spec);
  chunk.shape.first_row = static_cast<int64_t>(key.rank) * chunk.shape.rows;
  chunk.sample = draw(spec, chunk.shape, key);
  return chunk;
}

std::vector<double> points_of(const Sample& sample) {
  std::vector<double> points;
  for (const Group& group : sample.groups) points.push_back(static_cast<double>(group.points()));
  return points;
}

/// Not one of a mode or transform that stands for others, and must not outlive it.
bool is_plain(const at::Tensor& tensor) {
  return !tensor.unsafeGetTensorImpl()->is_python_dispatch() && tensor.has_storage() && !tensor.is_meta();
}

}  // namespace

void check_values_per_channel(std::span<const double> points, at::IntArrayRef sizes, std::string_view notation) {
  TORCH_CHECK_VALUE(std::ranges::count(points, 0.0) == 0, "samplenorm: '", notation,
                    "' expected rows to sample, and the processes that it chose have none; got input size ", sizes);
  if (std::ranges::any_of(points, [](double count) { return count > 1; })) return;
  TORCH_CHECK_VALUE(
      false, "Expected more than 1 value per channel when training, got input size ", sizes,
      notation == "BN" ? std::string() : " of which '" + std::string(notation) + "' samples 1 value per channel");
}

void check_sizes(at::IntArrayRef sizes, const Spec& spec, bool sync) {
  TORCH_CHECK(sizes.size() >= 2 && sizes.size() <= 5, "samplenorm: expected an input of 2 to 5 dimensions, got ",
              sizes.size());
  TORCH_CHECK_VALUE(!sync || spec.stat_batch == 0, "samplenorm: '", to_string(spec),
                    "' normalizes chunks of rows by themselves, and cannot be pooled over processes");
}

PlanSizes plan_sizes(at::IntArrayRef sizes, const Spec& spec, bool sync, int64_t ranks) {
  check_sizes(sizes, spec, sync);
  const bool one_group = spec.methods.size() == 1 || spec.beta == 0 || spec.beta == 1;
  PlanSizes result{.groups = one_group ? 1 : std::ssize(spec.methods)};
  // Whether every chunk is taken whole, in each process.
  bool whole = one_group && (!sync || spec.nodes.among(ranks) == ranks);
  const auto points = [&](const Shape& shape, uint64_t processes) {
    const int64_t most = shape.rows < 0 ? 0 : most_points(spec, shape, processes);
    whole &= most == shape.all_rows() * shape.map_points();
    return most;
  };
  if (sync) {
    // Whether the process carries virtual rows depends on the key.
    for (const int64_t virtual_rows : {int64_t{0}, spec.virtual_rows()})
      result.room =
          std::max(result.room, points(shape_of(sizes, sizes[0], virtual_rows), static_cast<uint64_t>(ranks)));
  } else {
    const std::vector<Shape> shapes = chunk_shapes(sizes, spec);
    result.chunks = std::max<int64_t>(std::ssize(shapes), 1);
    for (const Shape& shape : shapes) result.room += points(shape, 1);
  }
  if (whole) result.room = 0;
  return result;
}

std::vector<Chunk> draw_chunks(at::IntArrayRef sizes, const Spec& spec, const Key& key, bool sync) {
  check_sizes(sizes, spec, sync);
  if (sync) return {chunk_of_process(sizes, spec, key)};
  const std::vector<Shape> shapes = chunk_shapes(sizes, spec);
  Key chunk_key = key;
  chunk_key.chunk += key.rank * shapes.size();
  chunk_key.rank = 0;
  chunk_key.ranks = 1;
  std::vector<Chunk> chunks;
  int64_t first_row = 0;
  for (const Shape& shape : shapes) {
    chunks.push_back({first_row, shape, draw(spec, shape, chunk_key)});
    check_values_per_channel(points_of(chunks.back().sample), sizes, to_string(spec));
    first_row += shape.all_rows();
    ++chunk_key.chunk;
  }
  return chunks;
}

Plan::Plan(at::IntArrayRef input, const Spec& spec, const Key& key, bool sync)
    : sizes(plan_sizes(input, spec, sync, static_cast<int64_t>(key.ranks))), rows{0} {
  if (sync) contributors = samplenorm::contributors(spec, key);
  std::vector<int64_t> numbers;
  for (const Chunk& chunk : draw_chunks(input, spec, key, sync)) {
    map_points = chunk.shape.map_points();
    rows.push_back(chunk.first_row + chunk.shape.all_rows());
    weights.clear();
    for (const Group& group : chunk.sample.groups) {
      weights.push_back(group.weight);
      counts.push_back(group.points());
      if (sizes.room == 0) continue;
      const std::vector<int64_t> more = point_numbers(group, chunk.shape, chunk.first_row);
      numbers.insert(numbers.end(), more.begin(), more.end());
    }
  }
  // A method whose draws have more points than it says would write past the room for the copy.
  const int64_t points = std::accumulate(counts.begin(), counts.end(), int64_t{0}), all = rows.back() * map_points;
  TORCH_CHECK(sizes.room == 0 ? points == all : points <= sizes.room, "samplenorm: '", to_string(spec), "' drew ",
              points, " points of an input of size ", input, ", where it had said ", sizes.room == 0 ? all : sizes.room,
              ": the number of points must not depend on the draw (samplers/method.h)");
  on_cpu_ = key_tensor(numbers);
}

at::Tensor Plan::points_on(at::Device device) const {
  if (device.is_cpu()) return on_cpu_;
  const std::lock_guard lock(mutex_);
  for (const at::Tensor& known : elsewhere_)
    if (known.device() == device) return known;
  const at::Tensor from = device.is_cuda() && at::globalContext().hasCUDA() ? on_cpu_.pin_memory() : on_cpu_;
  at::Tensor copy = from.to(device, at::kLong, /*non_blocking=*/true);
  if (is_plain(copy)) elsewhere_.push_back(copy);
  return copy;
}

}  // namespace samplenorm
