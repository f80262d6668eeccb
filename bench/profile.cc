#include "bench/profile.h"

#include <ATen/Parallel.h>

#include "bench/quartiles.h"
#include "bench/step_bench.h"
#include "models/norm_by_name.h"

namespace samplenorm::bench {
namespace {

double median(const Seconds& seconds, Phase phase) { return quartiles(seconds.*phase).median; }

}  // namespace

LayerProfile time_layer(const NetworkLayer& layer, const std::string& activation, const StepCase& step,
                        const std::vector<std::string>& norms, const Effort& effort) {
  LayerProfile profile{.layer = layer, .activation = activation, .sampled = {}, .bytes = {}, .seconds = {}};
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const auto& norm : norms) {
    contenders.push_back(contender_with(layer, activation, step, norm));
    profile.sampled.push_back(sampled_part(*models::norm_by_name(norm, layer.sizes[1]), sizes_with(norm, layer, step)));
    profile.bytes.push_back(bytes_of(layer, activation, step, norm, profile.sampled.back()));
  }
  std::vector<Contender*> field;
  for (const auto& contender : contenders) field.push_back(contender.get());
  profile.seconds = time_in_rounds(field, effort);
  return profile;
}

Profile measure_profile(const StepCase& step, const std::vector<std::string>& norms, const Effort& effort,
                        const ProfileListener& listener) {
  Profile profile{.norms = norms, .layers = {}, .steps = {}, .threads = at::get_num_threads()};
  const auto layers = layers_of(step.model, step.images);
  const auto activations = activations_of(step);
  const auto total = static_cast<int64_t>(layers.size()) + 1;
  std::vector<NamedStep> steps;
  for (const auto& norm : norms) steps.push_back(named_step(step, norm));
  profile.steps = time_steps(steps, effort);
  steps.clear();
  listener(1, total, "whole steps");
  for (const auto& layer : layers) {
    profile.layers.push_back(time_layer(layer, activations.at(layer.names.front()), step, norms, effort));
    listener(static_cast<int64_t>(profile.layers.size()) + 1, total, layer.names.front());
  }
  return profile;
}

double seconds_of(const LayerProfile& layer, size_t norm, Phase phase) {
  return static_cast<double>(layer.layer.count()) * median(layer.seconds.at(norm), phase);
}

double layers_seconds(const Profile& profile, size_t norm, Phase phase) {
  double sum = 0;
  for (const auto& layer : profile.layers) sum += seconds_of(layer, norm, phase);
  return sum;
}

double step_seconds(const Profile& profile, size_t norm, Phase phase) { return median(profile.steps.at(norm), phase); }

double share(const Profile& profile, size_t norm) {
  return layers_seconds(profile, norm, &Seconds::both) / step_seconds(profile, norm, &Seconds::both);
}

double saved_by_layers(const Profile& profile, size_t norm) {
  const double saved = layers_seconds(profile, 0, &Seconds::both) - layers_seconds(profile, norm, &Seconds::both);
  return saved / step_seconds(profile, 0, &Seconds::both);
}

double saved_by_steps(const Profile& profile, size_t norm) {
  return 1 - median_ratio(profile.steps.at(norm).both, profile.steps.at(0).both);
}

}  // namespace samplenorm::bench
