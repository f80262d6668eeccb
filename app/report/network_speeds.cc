#include "report/network_speeds.h"

#include <cmath>

#include "report/figures.h"
#include "report/training_runs.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;

double layers_seconds(const json& step, const char* direction) {
  const auto seconds = step.find("layers_seconds");
  return seconds == step.end() ? std::nan("") : number_in(*seconds, direction);
}

const json* step_of(const json& steps, const std::string& norm) {
  for (const auto& step : steps)
    if (text_in(step, "norm") == norm) return &step;
  return nullptr;
}

NormSpeed speed_of(const json& step, const json& reference) {
  return {.norm = norm_name(text_in(step, "norm")),
          .layers = number_in(step, "layers_speed") / number_in(reference, "layers_speed"),
          .step = number_in(step, "step_speed") / number_in(reference, "step_speed"),
          .forward = layers_seconds(reference, "forward") / layers_seconds(step, "forward"),
          .backward = layers_seconds(reference, "backward") / layers_seconds(step, "backward")};
}

}  // namespace

std::vector<NetworkSpeeds> network_speeds(const std::vector<record::StudyRecords>& studies, const std::string& study) {
  std::vector<NetworkSpeeds> networks;
  for (const auto* source : records_of(studies, study))
    for (const auto& result : source->results) {
      const auto steps = result.fields.find("steps");
      if (steps == result.fields.end() || !steps->is_array()) continue;
      NetworkSpeeds network{source,
                            text_in(result.fields, "model"),
                            step_of(*steps, "torch") != nullptr ? "torch" : text_in(result.fields, "reference"),
                            number_in(result.fields, "batch"),
                            number_in(result.fields, "side"),
                            {}};
      const json* reference = step_of(*steps, network.reference);
      if (reference == nullptr) continue;
      for (const auto& step : *steps) network.norms.push_back(speed_of(step, *reference));
      networks.push_back(std::move(network));
    }
  return networks;
}

const NetworkSpeeds* find(const std::vector<NetworkSpeeds>& networks, const std::string& model) {
  for (const auto& network : networks)
    if (network.model == model) return &network;
  return nullptr;
}

const NormSpeed* find(const NetworkSpeeds* network, const std::string& method, double ratio) {
  if (network == nullptr) return nullptr;
  for (const auto& norm : network->norms)
    if (norm.norm.method == method && (ratio == 0 || same_ratio(norm.norm.ratio, ratio)) && !std::isnan(norm.step))
      return &norm;
  return nullptr;
}

}  // namespace samplenorm::report
