#pragma once

// Random numbers that depend on a key alone: no generator is shared, so neither the number of threads nor resuming
// changes a draw. SplitMix64: the state counts up by an odd constant and each count is hashed.

#include <cstdint>
#include <initializer_list>

namespace samplenorm::data {

/// What a stream is for, so that two uses of one (seed, epoch, index) draw differently.
enum class Purpose : uint64_t { kOrder = 1, kAugmentation = 2, kSynthetic = 3 };

class KeyedRandom {
 public:
  KeyedRandom(Purpose purpose, std::initializer_list<uint64_t> key) : state_(hash(static_cast<uint64_t>(purpose))) {
    for (const uint64_t part : key) state_ = hash(state_ + hash(part));
  }

  uint64_t next() {
    state_ += kStep;
    return mix(state_);
  }

  /// 0 to count - 1. Uneven by at most count / 2^64.
  int64_t below(int64_t count) {
    return static_cast<int64_t>(static_cast<Wide>(next()) * static_cast<uint64_t>(count) >> 64);
  }

  /// From `least` to just below `most`, in steps of (most - least) / 2^53.
  double uniform(double least, double most) {
    return least + (most - least) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

  static uint64_t mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
  }
  static uint64_t hash(uint64_t value) { return mix(value + kStep); }

  uint64_t state_;
};

}  // namespace samplenorm::data
