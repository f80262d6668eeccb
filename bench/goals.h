#pragma once

// What the measurements have to show: each goal is one number, larger is better, with the value that it must reach and
// the one that we aim at. A goal takes the worse of the two sampled norms in each case, then the geometric mean over
// the cases of its class.

#include <optional>
#include <string>
#include <vector>

#include "bench/measurement.h"

namespace samplenorm::bench {

inline constexpr const char* kSampledNorms[] = {"FS-1/64", "LS-1/64"};
inline constexpr const char* kExactNorm = "BN";

/// A tensor of more bytes than this is large: it does not stay in the caches from one layer to the next.
inline constexpr int64_t kLargeBytes = 16 << 20;
bool is_large(const std::vector<int64_t>& sizes);
/// Maps of 28 x 28 points and more.
bool has_big_map(const std::vector<int64_t>& sizes);

struct Goal {
  std::string id;
  std::string what;             ///< a sentence
  std::string format;           ///< empty: over the formats that the goal is about
  std::optional<double> value;  ///< none where nothing of its class was measured, or not all that it needs
  double must = 0;
  double aim = 0;
};

std::vector<Goal> goals(const Measurements& all);
/// Those goals that are over both memory formats, for each of these alone.
std::vector<Goal> goals_by_format(const Measurements& all);

/// Those of `bench layer --ring`, which take LS-1/64 alone.
std::vector<Goal> ring_goals(const Measurements& all);

/// "reached", "missed", "aim reached", "not measured".
std::string verdict(const Goal& goal);

}  // namespace samplenorm::bench
