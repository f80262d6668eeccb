#include "nn/plan.h"

#include <c10/util/Exception.h>

#include <algorithm>
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

void check_values_per_channel(const Sample& sample, at::IntArrayRef sizes, const Spec& spec) {
  const bool enough = std::ranges::any_of(sample.groups, [](const Group& group) { return group.points() > 1; });
  if (enough) return;
  const std::string notation = to_string(spec);
  TORCH_CHECK_VALUE(false, "Expected more than 1 value per channel when training, got input size ", sizes,
                    notation == "BN" ? std::string() : " of which '" + notation + "' samples 1 value per channel");
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

Plan make_plan(at::IntArrayRef sizes, const Spec& spec, const Key& key) {
  TORCH_CHECK(sizes.size() >= 2 && sizes.size() <= 5, "samplenorm: expected an input of 2 to 5 dimensions, got ",
              sizes.size());
  Plan plan;
  const bool one_group_left = spec.methods.size() == 1 || spec.beta == 0 || spec.beta == 1;
  plan.groups = one_group_left ? 1 : static_cast<int64_t>(spec.methods.size());
  if (c10::multiply_integers(sizes) == 0) {
    plan.chunks.emplace_back();
    return plan;
  }

  const int64_t rows = sizes[0];
  const int64_t chunk_rows = rows_of_chunk(spec, rows);
  const int64_t virtual_rows = spec.virtual_rows();
  Key chunk_key = key;
  for (int64_t first = 0; first < rows; first += chunk_rows, ++chunk_key.chunk) {
    Chunk chunk;
    chunk.first_row = first;
    chunk.shape = shape_of(sizes);
    chunk.shape.virtual_rows = virtual_rows;
    chunk.shape.rows = std::min(chunk_rows, rows - first) - virtual_rows;
    TORCH_CHECK_VALUE(chunk.shape.rows > 0, "samplenorm: '", to_string(spec), "' expected real rows behind the ",
                      virtual_rows, " virtual rows of each chunk, got input size ", sizes,
                      " (is there a VirtualBatch at the network's input?)");
    chunk.sample = draw(spec, chunk.shape, chunk_key);
    check_values_per_channel(chunk.sample, sizes, spec);
    add_runs(chunk, plan);
    plan.chunks.push_back(std::move(chunk));
  }
  return plan;
}

std::shared_ptr<const Plan> make_plan(at::IntArrayRef sizes, std::string_view notation, at::IntArrayRef key) {
  TORCH_CHECK_VALUE(key.size() == 4, "samplenorm: expected a key of 4 numbers (seed, layer, epoch, step), got ",
                    key.size());
  // The step counts only with redraw=step.
  const size_t used = notation.find("step") == std::string_view::npos ? 3 : 4;
  std::string question(notation);
  const auto add = [&](const int64_t* numbers, size_t count) {
    question.append(1, '\0').append(reinterpret_cast<const char*>(numbers), count * sizeof(int64_t));
  };
  add(key.data(), used);
  add(sizes.data(), sizes.size());

  static PlanCache cache;
  if (auto known = cache.find(question)) return known;
  const auto number = [&](size_t i) { return static_cast<uint64_t>(key[i]); };
  auto plan =
      std::make_shared<const Plan>(make_plan(sizes, parse(notation), Key{number(0), number(1), number(2), number(3)}));
  cache.keep(question, plan);
  return plan;
}

}  // namespace samplenorm
