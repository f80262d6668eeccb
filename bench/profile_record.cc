#include "bench/profile_record.h"

#include <nlohmann/json.hpp>

#include "bench/seconds_record.h"

namespace samplenorm::bench {
namespace {

using nlohmann::json;

json layer_record(const LayerProfile& layer, const Profile& profile) {
  json record{{"names", layer.layer.names},
              {"count", layer.layer.count()},
              {"shape", layer.layer.sizes},
              {"parts", layer.layer.parts},
              {"fusion", fusion_name(layer.layer.fusion, layer.activation)},
              {"share", seconds_of(layer, 0, &Seconds::both) / step_seconds(profile, 0, &Seconds::both)}};
  for (size_t i = 0; i < profile.norms.size(); ++i) {
    auto& norm = record["norms"][profile.norms[i]];
    norm = phase_spreads(layer.seconds[i]);
    norm["sampled"] = layer.sampled[i];
    if (const auto& bytes = layer.bytes[i])
      norm["bytes"] = {{"forward", bytes->forward}, {"backward", bytes->backward}};
  }
  return record;
}

json step_record(const Profile& profile, size_t norm) {
  json record = phase_spreads(profile.steps[norm]);
  record["norm"] = profile.norms[norm];
  record["layers_seconds"] = {{"forward", layers_seconds(profile, norm, &Seconds::forward)},
                              {"backward", layers_seconds(profile, norm, &Seconds::backward)},
                              {"both", layers_seconds(profile, norm, &Seconds::both)}};
  record["share"] = share(profile, norm);
  record["saved_by_layers"] = saved_by_layers(profile, norm);
  record["saved_by_steps"] = saved_by_steps(profile, norm);
  return record;
}

json number_or_null(const std::optional<double>& number) { return number ? json(*number) : json(nullptr); }

json predicted_record(const std::optional<PredictedStep>& step) {
  if (!step)
    return {{"rest_seconds", nullptr}, {"layers_seconds", nullptr}, {"step_seconds", nullptr}, {"share", nullptr}};
  return {{"rest_seconds", step->rest},
          {"layers_seconds", step->layers},
          {"step_seconds", step->step()},
          {"share", step->share()}};
}

}  // namespace

json profile_record(const Profile& profile) {
  json record{{"reference", profile.norms.front()}, {"layers", json::array()}, {"steps", json::array()}};
  for (const auto& layer : profile.layers) record["layers"].push_back(layer_record(layer, profile));
  for (size_t i = 0; i < profile.norms.size(); ++i) record["steps"].push_back(step_record(profile, i));
  return record;
}

json prediction_record(const Profile& profile, const Machine& machine, const PredictionCheck* check) {
  json record{{"model", kPredictionModel},
              {"assumptions", kPredictionAssumptions},
              {"cores", machine.cores},
              {"bytes_per_second", machine.bytes_per_second},
              {"threads_measured", profile.threads},
              {"norms", json::array()},
              {"check", nullptr}};
  for (size_t i = 0; i < profile.norms.size(); ++i) {
    json norm = predicted_record(predict(profile, i, machine));
    norm["norm"] = profile.norms[i];
    norm["speed"] = number_or_null(predicted_speed(profile, i, machine));
    record["norms"].push_back(norm);
  }
  if (check == nullptr) return record;
  record["check"] = {{"threads_measured", check->from_threads},
                     {"cores", check->machine.cores},
                     {"bytes_per_second", check->machine.bytes_per_second},
                     {"norms", json::array()}};
  for (size_t i = 0; i < profile.norms.size(); ++i) {
    json norm = predicted_record(check->predicted[i]);
    norm["norm"] = profile.norms[i];
    norm["measured_seconds"] = check->measured[i];
    norm["error"] = number_or_null(error_of(*check, i));
    record["check"]["norms"].push_back(norm);
  }
  return record;
}

}  // namespace samplenorm::bench
