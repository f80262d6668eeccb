#include "nn/plan.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

namespace samplenorm {
namespace {

Shape shape_of(at::IntArrayRef sizes) {
  Shape shape;
  const size_t dims = sizes.size();
  if (dims > 2) shape.width = sizes[dims - 1];
  if (dims > 3) shape.height = sizes[dims - 2];
  if (dims > 4) shape.depth = sizes[dims - 3];
  return shape;
}

/// Virtual rows come first in each chunk, as on a worker of its own: a chunk is virtual_rows + stat_batch rows.
int64_t rows_of_chunk(const Spec& spec, int64_t rows) {
  return spec.stat_batch == 0 ? rows : std::min(rows, spec.virtual_rows() + spec.stat_batch);
}

/// Points that a copy of the sample of such a chunk may have; 0 where it is of all points.
int64_t room_for_copy(const Spec& spec, const Shape& shape, int64_t groups) {
  const int64_t most = most_points(spec, shape);
  return groups == 1 && most == shape.all_rows() * shape.map_points() ? 0 : most;
}

void add_runs(Chunk& chunk, Plan& plan) {
  const std::vector<Group>& groups = chunk.sample.groups;
  chunk.everything = plan.sizes.room_for_copy == 0 && is_everything(groups.front(), chunk.shape);
  for (const Group& group : groups) {
    chunk.runs.push_back(runs_of(group, chunk.shape));
    chunk.first_in_copy.push_back(plan.copied_points);
    if (!chunk.everything) plan.copied_points += group.points();
  }
}

std::vector<double> points_of(const Sample& sample) {
  std::vector<double> points;
  for (const Group& group : sample.groups) points.push_back(static_cast<double>(group.points()));
  return points;
}

void check_real_rows(const Shape& shape, int64_t least, at::IntArrayRef sizes, const Spec& spec) {
  TORCH_CHECK_VALUE(shape.rows >= least, "samplenorm: '", to_string(spec), "' expected real rows behind the ",
                    shape.virtual_rows, " virtual rows of each chunk, got input size ", sizes,
                    " (is there a VirtualBatch at the network's input?)");
}

int64_t group_count(const Spec& spec) {
  const bool one_group_left = spec.methods.size() == 1 || spec.beta == 0 || spec.beta == 1;
  return one_group_left ? 1 : static_cast<int64_t>(spec.methods.size());
}

/// The shapes of the chunks that rows are normalized in, in order.
std::vector<Shape> chunk_shapes(at::IntArrayRef sizes, const Spec& spec) {
  const int64_t rows = sizes[0], chunk_rows = rows_of_chunk(spec, rows);
  std::vector<Shape> shapes;
  for (int64_t first = 0; first < rows; first += chunk_rows) {
    Shape shape = shape_of(sizes);
    shape.virtual_rows = spec.virtual_rows();
    shape.rows = std::min(chunk_rows, rows - first) - shape.virtual_rows;
    check_real_rows(shape, 1, sizes, spec);
    shapes.push_back(shape);
  }
  return shapes;
}

/// Sync: one chunk, without rows too; the others are taken to have as many rows as this process.
Plan plan_of_part(at::IntArrayRef sizes, const Spec& spec, const Key& key) {
  Plan plan{.sizes = plan_sizes(sizes, spec, /*sync=*/true), .chunks = {}, .contributors = contributors(spec, key)};
  Chunk chunk;
  chunk.shape = shape_of(sizes);
  chunk.shape.virtual_rows = carries_virtual_rows(spec.nodes, key) ? spec.virtual_rows() : 0;
  chunk.shape.rows = sizes[0] - chunk.shape.virtual_rows;
  check_real_rows(chunk.shape, 0, sizes, spec);
  chunk.shape.first_row = static_cast<int64_t>(key.rank) * chunk.shape.rows;
  chunk.sample = draw(spec, chunk.shape, key);
  add_runs(chunk, plan);
  plan.chunks.push_back(std::move(chunk));
  return plan;
}

/// Plans by all that they depend on.
class PlanCache {
 public:
  std::shared_ptr<const Plan> find(const std::string& question) {
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(question);
    return found == plans_.end() ? nullptr : found->second;
  }

  void keep(const std::string& question, const std::shared_ptr<const Plan>& plan) {
    constexpr size_t kMostRuns = 1 << 20;
    size_t runs = 0;
    for (const Chunk& chunk : plan->chunks)
      for (const auto& group : chunk.runs) runs += group.size();
    const std::lock_guard lock(mutex_);
    runs_ += runs + 1;
    if (runs_ > kMostRuns) {  // those of earlier epochs are never asked for again
      plans_.clear();
      runs_ = runs + 1;
    }
    plans_.emplace(question, plan);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Plan>> plans_;
  size_t runs_ = 0;
};

}  // namespace

void check_values_per_channel(std::span<const double> points, at::IntArrayRef sizes, std::string_view notation) {
  TORCH_CHECK_VALUE(std::ranges::count(points, 0.0) == 0, "samplenorm: '", notation,
                    "' expected rows to sample, and the processes that it chose have none; got input size ", sizes);
  if (std::ranges::any_of(points, [](double count) { return count > 1; })) return;
  TORCH_CHECK_VALUE(
      false, "Expected more than 1 value per channel when training, got input size ", sizes,
      notation == "BN" ? std::string() : " of which '" + std::string(notation) + "' samples 1 value per channel");
}

PlanSizes plan_sizes(at::IntArrayRef sizes, const Spec& spec, bool sync) {
  TORCH_CHECK(sizes.size() >= 2 && sizes.size() <= 5, "samplenorm: expected an input of 2 to 5 dimensions, got ",
              sizes.size());
  PlanSizes result{.chunks = 1, .groups = group_count(spec)};
  if (sync) {
    TORCH_CHECK_VALUE(spec.stat_batch == 0, "samplenorm: '", to_string(spec),
                      "' normalizes chunks of rows by themselves, and cannot be pooled over processes");
    // Which rows are virtual depends on the key.
    Shape largest = shape_of(sizes);
    largest.virtual_rows = spec.virtual_rows();
    largest.rows = sizes[0];
    result.room_for_copy = room_for_copy(spec, largest, result.groups);
  } else if (c10::multiply_integers(sizes) > 0) {
    const std::vector<Shape> shapes = chunk_shapes(sizes, spec);
    result.chunks = std::ssize(shapes);
    for (const Shape& shape : shapes) result.room_for_copy += room_for_copy(spec, shape, result.groups);
  }
  return result;
}

Plan make_plan(at::IntArrayRef sizes, const Spec& spec, const Key& key, bool sync) {
  if (sync) return plan_of_part(sizes, spec, key);
  Plan plan{.sizes = plan_sizes(sizes, spec, sync), .chunks = {}, .contributors = {}};
  if (c10::multiply_integers(sizes) == 0) {
    plan.chunks.emplace_back();
    return plan;
  }

  Key chunk_key = key;
  chunk_key.chunk += key.rank * static_cast<uint64_t>(plan.sizes.chunks);
  chunk_key.rank = 0;
  chunk_key.ranks = 1;
  int64_t first_row = 0;
  for (const Shape& shape : chunk_shapes(sizes, spec)) {
    Chunk chunk;
    chunk.first_row = first_row;
    chunk.shape = shape;
    chunk.sample = draw(spec, shape, chunk_key);
    check_values_per_channel(points_of(chunk.sample), sizes, to_string(spec));
    add_runs(chunk, plan);
    plan.chunks.push_back(std::move(chunk));
    first_row += shape.all_rows();
    ++chunk_key.chunk;
  }
  return plan;
}

std::shared_ptr<const Plan> make_plan(at::IntArrayRef sizes, std::string_view notation, const KeyNumbers& key,
                                      bool sync) {
  KeyNumbers numbers = key;
  TORCH_CHECK_VALUE(numbers[4] >= 0 && numbers[4] < numbers[5],
                    "samplenorm: expected a rank from 0 to ranks - 1, got rank ", numbers[4], " of ", numbers[5]);
  if (notation.find("step") == std::string_view::npos) numbers[3] = 0;  // it counts only with redraw=step
  std::string question(notation);
  question.append(1, sync ? '\1' : '\0');
  const auto add = [&](at::IntArrayRef values) {
    question.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
  };
  add(numbers);
  add(sizes);

  static PlanCache cache;
  if (auto known = cache.find(question)) return known;
  const auto number = [&](size_t i) { return static_cast<uint64_t>(numbers[i]); };
  const Key parsed = {.seed = number(0),
                      .layer = number(1),
                      .epoch = number(2),
                      .step = number(3),
                      .rank = number(4),
                      .ranks = number(5)};
  auto plan = std::make_shared<const Plan>(make_plan(sizes, parse(notation), parsed, sync));
  cache.keep(question, plan);
  return plan;
}

}  // namespace samplenorm
