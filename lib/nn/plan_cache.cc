#include <c10/util/hash.h>

#include <list>
#include <unordered_map>

#include "nn/plan.h"

namespace samplenorm {
namespace {

/// All that a plan depends on, as numbers: where its parsed notation lies, whether it is of Sync, the key, the sizes.
using CacheKey = std::array<int64_t, 14>;

CacheKey cache_key(const Spec& spec, bool sync, const KeyNumbers& key, at::IntArrayRef sizes) {
  check_sizes(sizes, spec, sync);
  CacheKey result = {reinterpret_cast<intptr_t>(&spec), sync, std::ssize(sizes)};
  std::ranges::copy(sizes, std::ranges::copy(key, result.begin() + 3).out);
  return result;
}

/// The least recently used plans are forgotten where there are many with many points. A network with no more layers
/// than kFewestPlans never makes a plan twice, however large its samples are.
class PlanCache {
 public:
  std::shared_ptr<const Plan> find(const CacheKey& key) {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(key);
    if (place == places_.end()) return nullptr;
    newest_first_.splice(newest_first_.begin(), newest_first_, place->second);
    return place->second->second;
  }

  void keep(const CacheKey& key, const std::shared_ptr<const Plan>& plan) {
    constexpr size_t kFewestPlans = 512;
    constexpr int64_t kMostPoints = 1 << 22;
    const std::lock_guard lock(mutex_);
    if (places_.contains(key)) return;  // another thread has made it meanwhile
    newest_first_.emplace_front(key, plan);
    places_[key] = newest_first_.begin();
    points_ += points_of(*plan);
    for (; points_ > kMostPoints && places_.size() > kFewestPlans; newest_first_.pop_back()) {
      const auto& [oldest_key, oldest] = newest_first_.back();
      points_ -= points_of(*oldest);
      places_.erase(oldest_key);
    }
  }

  PlanUse use() {
    const std::lock_guard lock(mutex_);
    return {places_.size(), points_};
  }

 private:
  using Entries = std::list<std::pair<CacheKey, std::shared_ptr<const Plan>>>;
  struct Hash {
    size_t operator()(const CacheKey& key) const { return c10::hash<at::IntArrayRef>()(key); }
  };

  /// With something for the entry itself.
  static int64_t points_of(const Plan& plan) { return plan.on(at::kCPU).points.numel() + 64; }

  std::mutex mutex_;
  Entries newest_first_;
  std::unordered_map<CacheKey, Entries::iterator, Hash> places_;
  int64_t points_ = 0;
};

PlanCache& plans() {
  static PlanCache cache;
  return cache;
}

}  // namespace

Key key_of(const KeyNumbers& numbers) {
  const auto number = [&](size_t i) { return static_cast<uint64_t>(numbers[i]); };
  return {number(0), number(1), number(2), number(3), /*chunk=*/0, number(4), number(5)};
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

  const CacheKey wanted = cache_key(spec, sync, numbers, sizes);
  if (auto plan = plans().find(wanted)) return plan;
  auto plan = std::make_shared<const Plan>(sizes, spec, key_of(numbers), sync);
  plans().keep(wanted, plan);
  return plan;
}

PlanUse plans_in_memory() { return plans().use(); }

}  // namespace samplenorm
