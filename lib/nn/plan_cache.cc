#include <c10/util/hash.h>

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <unordered_map>

#include "nn/plan.h"

namespace samplenorm {
namespace {

/// All that a plan depends on, as numbers: where its parsed notation lies, whether it is of Sync, the key, the sizes.
using CacheKey = std::array<uint64_t, 14>;

CacheKey cache_key(const Spec& spec, bool sync, const Key& key, at::IntArrayRef sizes) {
  check_sizes(sizes, spec, sync);
  CacheKey result = {reinterpret_cast<uintptr_t>(&spec), sync, sizes.size()};
  std::ranges::copy(std::array{key.seed, key.layer, key.epoch, key.step, key.rank, key.ranks}, result.begin() + 3);
  std::ranges::copy(sizes, result.begin() + 9);
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
    size_t operator()(const CacheKey& key) const { return c10::hash<at::ArrayRef<uint64_t>>()(key); }
  };

  /// With something for the entry itself.
  static int64_t points_of(const Plan& plan) { return plan.points_on(at::kCPU).numel() + 64; }

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

const Spec& parsed(std::string_view notation) {
  static std::mutex mutex;
  static std::map<std::string, Spec, std::less<>> known;
  const std::lock_guard lock(mutex);
  auto place = known.find(notation);
  if (place == known.end()) place = known.emplace(notation, parse(notation)).first;
  return place->second;
}

std::shared_ptr<const Plan> find_plan(at::IntArrayRef sizes, std::string_view notation, Key key, bool sync) {
  const Spec& spec = parsed(notation);
  if (spec.redraw != Redraw::kStep) key.step = 0;
  const CacheKey wanted = cache_key(spec, sync, key, sizes);
  if (auto plan = plans().find(wanted)) return plan;
  auto plan = std::make_shared<const Plan>(sizes, spec, key, sync);
  plans().keep(wanted, plan);
  return plan;
}

PlanUse plans_in_memory() { return plans().use(); }

}  // namespace samplenorm
