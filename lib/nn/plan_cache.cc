#include <c10/util/hash.h>

#include <list>
#include <unordered_map>

#include "nn/plan.h"

namespace samplenorm {
namespace {

/// All that a plan depends on.
struct Question {
  std::string_view notation;
  at::IntArrayRef sizes;
  const KeyNumbers& key;
  bool sync;
};

/// The least recently used plans are forgotten where there are many with many points. A network with no more layers
/// than kFewestPlans never makes a plan twice, however large its samples are.
class PlanCache {
 public:
  std::shared_ptr<const Plan> find(const Question& question, size_t hash) {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = places_.equal_range(hash);
    for (auto place = begin; place != end; ++place) {
      if (!place->second->answers(question)) continue;
      newest_first_.splice(newest_first_.begin(), newest_first_, place->second);
      return place->second->plan;
    }
    return nullptr;
  }

  void keep(const Question& question, size_t hash, const std::shared_ptr<const Plan>& plan) {
    constexpr size_t kFewestPlans = 512;
    constexpr int64_t kMostPoints = 1 << 22;
    const std::lock_guard lock(mutex_);
    newest_first_.push_front({std::string(question.notation), question.sizes.vec(), question.key, question.sync, hash,
                              plan});
    places_.emplace(hash, newest_first_.begin());
    points_ += newest_first_.front().points();
    while (points_ > kMostPoints && newest_first_.size() > kFewestPlans) forget_oldest();
  }

  PlanUse use() {
    const std::lock_guard lock(mutex_);
    return {newest_first_.size(), points_};
  }

 private:
  struct Entry {
    std::string notation;
    std::vector<int64_t> sizes;
    KeyNumbers key;
    bool sync;
    size_t hash;
    std::shared_ptr<const Plan> plan;

    bool answers(const Question& question) const {
      return notation == question.notation && question.sizes == sizes && key == question.key && sync == question.sync;
    }
    /// With something for the entry itself.
    int64_t points() const { return plan->on(at::kCPU).points.numel() + 64; }
  };

  void forget_oldest() {
    const auto oldest = std::prev(newest_first_.end());
    const auto [begin, end] = places_.equal_range(oldest->hash);
    for (auto place = begin; place != end; ++place) {
      if (place->second != oldest) continue;
      places_.erase(place);
      break;
    }
    points_ -= oldest->points();
    newest_first_.erase(oldest);
  }

  std::mutex mutex_;
  std::list<Entry> newest_first_;
  std::unordered_multimap<size_t, std::list<Entry>::iterator> places_;
  int64_t points_ = 0;
};

PlanCache& plans() {
  static PlanCache cache;
  return cache;
}

}  // namespace

Key key_of(const KeyNumbers& numbers) {
  const auto number = [&](size_t i) { return static_cast<uint64_t>(numbers[i]); };
  return {.seed = number(0),
          .layer = number(1),
          .epoch = number(2),
          .step = number(3),
          .rank = number(4),
          .ranks = number(5)};
}

const Spec& parsed(std::string_view notation) {
  static std::mutex mutex;
  static std::map<std::string, Spec, std::less<>> known;
  const std::lock_guard lock(mutex);
  auto place = known.find(notation);
  if (place == known.end()) place = known.emplace(notation, parse(notation)).first;
  return place->second;
}

std::shared_ptr<const Plan> find_plan(at::IntArrayRef sizes, std::string_view notation, const KeyNumbers& key,
                                      bool sync) {
  KeyNumbers numbers = key;
  auto& [seed, layer, epoch, step, rank, ranks] = numbers;
  TORCH_CHECK_VALUE(rank >= 0 && rank < ranks, "samplenorm: expected a rank from 0 to ranks - 1, got rank ", rank,
                    " of ", ranks);
  const Spec& spec = parsed(notation);
  if (spec.redraw != Redraw::kStep) step = 0;

  const Question question{notation, sizes, numbers, sync};
  size_t hash = c10::hash_combine(std::hash<std::string_view>()(notation), sync);
  for (const at::IntArrayRef values : {at::IntArrayRef(numbers), sizes})
    for (const int64_t value : values) hash = c10::hash_combine(hash, static_cast<size_t>(value));
  if (auto plan = plans().find(question, hash)) return plan;
  auto plan = std::make_shared<const Plan>(sizes, spec, key_of(numbers), sync);
  plans().keep(question, hash, plan);
  return plan;
}

PlanUse plans_in_memory() { return plans().use(); }

}  // namespace samplenorm
