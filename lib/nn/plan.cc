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

void add_runs(Chunk& chunk, Plan& plan) {
  const std::vector<Group>& groups = chunk.sample.groups;
  chunk.everything = groups.size() == 1 && is_everything(groups.front(), chunk.shape);
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

Plan plan_without_chunks(const Spec& spec) {
  Plan plan;
  const bool one_group_left = spec.methods.size() == 1 || spec.beta == 0 || spec.beta == 1;
  plan.groups = one_group_left ? 1 : static_cast<int64_t>(spec.methods.size());
  return plan;
}

/// Sync: one chunk, without rows too; the others are taken to have as many rows as this process.
Plan plan_of_part(at::IntArrayRef sizes, const Spec& spec, const Key& key) {
  TORCH_CHECK_VALUE(spec.stat_batch == 0, "samplenorm: '", to_string(spec),
                    "' normalizes chunks of rows by themselves, and cannot be pooled over processes");
  Plan plan = plan_without_chunks(spec);
  plan.contributors = contributors(spec, key);
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

Plan make_plan(at::IntArrayRef sizes, const Spec& spec, const Key& key, bool sync) {
  TORCH_CHECK(sizes.size() >= 2 && sizes.size() <= 5, "samplenorm: expected an input of 2 to 5 dimensions, got ",
              sizes.size());
  if (sync) return plan_of_part(sizes, spec, key);
  Plan plan = plan_without_chunks(spec);
  if (c10::multiply_integers(sizes) == 0) {
    plan.chunks.emplace_back();
    return plan;
  }

  const int64_t rows = sizes[0];
  const int64_t chunk_rows = rows_of_chunk(spec, rows);
  const int64_t virtual_rows = spec.virtual_rows();
  Key chunk_key = key;
  chunk_key.chunk += key.rank * static_cast<uint64_t>((rows + chunk_rows - 1) / chunk_rows);
  chunk_key.rank = 0;
  chunk_key.ranks = 1;
  for (int64_t first = 0; first < rows; first += chunk_rows, ++chunk_key.chunk) {
    Chunk chunk;
    chunk.first_row = first;
    chunk.shape = shape_of(sizes);
    chunk.shape.virtual_rows = virtual_rows;
    chunk.shape.rows = std::min(chunk_rows, rows - first) - virtual_rows;
    check_real_rows(chunk.shape, 1, sizes, spec);
    chunk.sample = draw(spec, chunk.shape, chunk_key);
    check_values_per_channel(points_of(chunk.sample), sizes, to_string(spec));
    add_runs(chunk, plan);
    plan.chunks.push_back(std::move(chunk));
  }
  return plan;
}

std::shared_ptr<const Plan> make_plan(at::IntArrayRef sizes, std::string_view notation, at::IntArrayRef key,
                                      bool sync) {
  TORCH_CHECK_VALUE(key.size() == 4 || key.size() == 6,
                    "samplenorm: expected a key of 4 or 6 numbers (seed, layer, epoch, step, rank, ranks), got ",
                    key.size());
  std::array<int64_t, 6> numbers = {0, 0, 0, 0, 0, 1};
  std::ranges::copy(key, numbers.begin());
  TORCH_CHECK_VALUE(numbers[4] >= 0 && numbers[4] < numbers[5],
                    "samplenorm: expected a rank from 0 to ranks - 1 in the key, got rank ", numbers[4], " of ",
                    numbers[5]);
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
