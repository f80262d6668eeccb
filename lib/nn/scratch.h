#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace samplenorm {

/// Memory to work in that stays with its thread from call to call, since a layer's needs hardly change. There is one
/// for each thread, T and Purpose; no two objects of the same may live at once.
template <class T, class Purpose>
class Scratch {
 public:
  /// Room for all that will be taken.
  explicit Scratch(int64_t count) : free_(memory(static_cast<size_t>(count))) {}

  std::span<T> all() const { return free_; }

  std::span<T> take(int64_t count) {
    const std::span<T> part = free_.first(static_cast<size_t>(count));
    free_ = free_.subspan(part.size());
    return part;
  }

 private:
  static std::span<T> memory(size_t count) {
    thread_local std::vector<T> kept;
    if (kept.size() < count) kept.resize(count);
    return kept;
  }

  std::span<T> free_;
};

}  // namespace samplenorm
