#include "cli/layer_record.h"

#include <nlohmann/json.hpp>

#include "bench/seconds_record.h"

namespace samplenorm::cli {
namespace {

using bench::Measurement;
using bench::Seconds;
using nlohmann::json;

json speed(const Measurement* rival, const Measurement& measurement) {
  if (rival == nullptr) return nullptr;
  return {{"forward", bench::speed_against(*rival, measurement, &Seconds::forward)},
          {"backward", bench::speed_against(*rival, measurement, &Seconds::backward)},
          {"both", bench::speed_against(*rival, measurement, &Seconds::both)}};
}

}  // namespace

json measurement_records(const bench::Measurements& all) {
  auto records = json::array();
  for (const auto& measurement : all) {
    records.push_back(
        {{"shape", measurement.sizes},
         {"format", measurement.format.empty() ? json(nullptr) : json(measurement.format)},
         {"fusion", name_of(measurement.fusion)},
         {"norm", measurement.norm},
         {"path", measurement.path},
         {"sampled", measurement.sampled},
         {"speed_against",
          {{"limit", speed(bench::find(all, measurement, bench::kLimit, ""), measurement)},
           {"torch", speed(bench::find(all, measurement, bench::kTorch, bench::kAutograd), measurement)},
           {"exact", speed(bench::find(all, measurement, bench::kExactNorm, measurement.path), measurement)},
           {"onednn", speed(bench::fastest_onednn(all, measurement), measurement)}}}});
    records.back().update(bench::phase_spreads(measurement.seconds));
  }
  return records;
}

json goal_records(const std::vector<bench::Goal>& goals) {
  auto records = json::array();
  for (const auto& goal : goals) {
    records.push_back({{"id", goal.id},
                       {"what", goal.what},
                       {"value", goal.value ? json(*goal.value) : json(nullptr)},
                       {"must", goal.must},
                       {"aim", goal.aim},
                       {"verdict", bench::verdict(goal)}});
    if (!goal.format.empty()) records.back()["format"] = goal.format;
  }
  return records;
}

}  // namespace samplenorm::cli
