#pragma once

// What was timed, as plain data: goals and records are made of these.

#include <cstdint>
#include <string>
#include <vector>

#include "bench/fusion.h"

namespace samplenorm::bench {

inline constexpr const char* kChannelsLast = "channels_last";
inline constexpr const char* kContiguous = "contiguous";

// The contenders that are no norm of ours.
inline constexpr const char* kTorch = "torch";
inline constexpr const char* kOneDnn = "oneDNN";
inline constexpr const char* kLimit = "limit";

// The ways to a norm of ours.
inline constexpr const char* kAutograd = "autograd";
inline constexpr const char* kRaw = "raw";  ///< the operators below autograd

/// One value a round.
struct Seconds {
  std::vector<double> forward;
  std::vector<double> backward;
  std::vector<double> both;
};
using Phase = std::vector<double> Seconds::*;

struct Measurement {
  std::vector<int64_t> sizes;  ///< N, C, H, W
  std::string format;          ///< of memory; empty where it makes no difference: the limit, and oneDNN with its own
  Fusion fusion = Fusion::kNone;
  std::string norm;    ///< kTorch, kOneDnn, kLimit or a notation
  std::string path;    ///< kAutograd or kRaw; of oneDNN its memory format; of the limit its stores
  double sampled = 1;  ///< part of the points in the statistics
  Seconds seconds = {};
};
using Measurements = std::vector<Measurement>;

/// How many times faster than its rival the contender is. Both were timed in the same rounds.
double speed_against(const Measurement& rival, const Measurement& contender, Phase phase = &Seconds::both);

/// Those of the same shape and fusion as `like` were timed in the same rounds. Null where there is none.
const Measurement* find(const Measurements& all, const Measurement& like, const std::string& norm,
                        const std::string& path);
/// Of oneDNN's formats the one with the smallest median of both.
const Measurement* fastest_onednn(const Measurements& all, const Measurement& like);

/// The limit of one shape and fusion, from the measurements that have this norm: forward and backward each with the
/// stores that are faster by their medians. `all` must have one at least.
Measurement limit_of(const Measurements& all);

}  // namespace samplenorm::bench
