#pragma once

// Counter-based random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
// A draw is a function of its key and counter, so threads, processes and resumed runs need no shared state.

#include <array>
#include <cstdint>

namespace samplenorm {

using PhiloxBlock = std::array<uint32_t, 4>;

/// Ten rounds on `counter` under `key`.
PhiloxBlock philox(PhiloxBlock counter, std::array<uint32_t, 2> key);

/// What a stream is for; streams of different purposes never share numbers.
enum class Purpose : uint32_t { kSamplePerEpoch = 1, kSamplePerStep = 2, kVirtualRows = 3, kNodes = 4 };

/// The sequence of numbers that belongs to (seed, purpose, layer, time, chunk); `chunk` is below 2^32.
class Stream {
 public:
  Stream(uint64_t seed, Purpose purpose, uint64_t layer, uint64_t time, uint64_t chunk = 0);

  uint32_t next();
  /// Uniform over 0 ... bound-1, without bias. `bound` is at least 1.
  uint64_t below(uint64_t bound);
  /// Standard normal.
  double normal();

 private:
  uint64_t next64() { return (static_cast<uint64_t>(next()) << 32) | next(); }

  std::array<uint32_t, 2> key_;
  PhiloxBlock counter_;
  PhiloxBlock block_{};
  int used_ = 4;
  bool has_spare_normal_ = false;
  double spare_normal_ = 0;
};

}  // namespace samplenorm
