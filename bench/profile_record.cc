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
              {"fusion", name_of(layer.layer.fusion)},
              {"share", seconds_of(layer, 0, &Seconds::both) / step_seconds(profile, 0, &Seconds::both)}};
  for (size_t i = 0; i < profile.norms.size(); ++i) {
    auto& norm = record["norms"][profile.norms[i]];
    norm = phase_spreads(layer.seconds[i]);
    norm["sampled"] = layer.sampled[i];
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

}  // namespace

json profile_record(const Profile& profile) {
  json record{{"reference", profile.norms.front()}, {"layers", json::array()}, {"steps", json::array()}};
  for (const auto& layer : profile.layers) record["layers"].push_back(layer_record(layer, profile));
  for (size_t i = 0; i < profile.norms.size(); ++i) record["steps"].push_back(step_record(profile, i));
  return record;
}

}  // namespace samplenorm::bench
