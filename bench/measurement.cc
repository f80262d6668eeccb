#include "bench/measurement.h"

#include "bench/quartiles.h"

namespace samplenorm::bench {
namespace {

bool same_rounds(const Measurement& a, const Measurement& b) { return a.sizes == b.sizes && a.fusion == b.fusion; }

double median(const std::vector<double>& values) { return quartiles(values).median; }

void take_if_faster(std::vector<double>& best, const std::vector<double>& seconds) {
  if (best.empty() || median(seconds) < median(best)) best = seconds;
}

}  // namespace

double speed_against(const Measurement& rival, const Measurement& contender, Phase phase) {
  return median_ratio(rival.seconds.*phase, contender.seconds.*phase);
}

const Measurement* find(const Measurements& all, const Measurement& like, const std::string& norm,
                        const std::string& path) {
  for (const auto& measurement : all) {
    const bool has_no_format = measurement.format.empty();
    if (same_rounds(measurement, like) && (has_no_format || measurement.format == like.format) &&
        measurement.norm == norm && measurement.path == path) {
      return &measurement;
    }
  }
  return nullptr;
}

const Measurement* fastest_onednn(const Measurements& all, const Measurement& like) {
  const Measurement* fastest = nullptr;
  for (const auto& measurement : all) {
    if (!same_rounds(measurement, like) || measurement.norm != kOneDnn) continue;
    if (fastest == nullptr || median(measurement.seconds.both) < median(fastest->seconds.both)) fastest = &measurement;
  }
  return fastest;
}

Measurement limit_of(const Measurements& all) {
  Measurement limit;
  for (const auto& measurement : all) {
    if (measurement.norm != kLimit) continue;
    const Seconds best_so_far = std::move(limit.seconds);
    limit = measurement;
    limit.path.clear();
    limit.seconds = best_so_far;
    take_if_faster(limit.seconds.forward, measurement.seconds.forward);
    take_if_faster(limit.seconds.backward, measurement.seconds.backward);
  }
  for (size_t round = 0; round < limit.seconds.forward.size(); ++round) {
    limit.seconds.both.push_back(limit.seconds.forward[round] + limit.seconds.backward[round]);
  }
  return limit;
}

}  // namespace samplenorm::bench
