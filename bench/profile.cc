#include "bench/profile.h"

#include <fmt/format.h>

#include <cmath>

#include "bench/quartiles.h"
#include "models/norm_by_name.h"
#include "samplenorm/error.h"

namespace samplenorm::bench {
namespace {

constexpr double kLossTolerance = 1e-3;  // rounding grows from layer to layer

bool is_exact(const std::string& norm) { return norm == kTorch || norm == "BN"; }

/// What is timed must be training, and the exact norms the same training.
void check_losses(const std::vector<std::string>& norms, const std::vector<double>& losses) {
  const double* exact = nullptr;
  for (size_t i = 0; i < norms.size(); ++i) {
    if (!std::isfinite(losses[i])) throw Error(fmt::format("{}: expected a finite loss, got {}", norms[i], losses[i]));
    if (!is_exact(norms[i])) continue;
    if (exact != nullptr && std::abs(losses[i] - *exact) > kLossTolerance * std::abs(*exact))
      throw Error(fmt::format("{}: expected the loss {} of the other exact norm, got {}", norms[i], *exact, losses[i]));
    exact = &losses[i];
  }
}

double median(const Seconds& seconds, Phase phase) { return quartiles(seconds.*phase).median; }

template <class Who>
std::vector<Seconds> time_all(const std::vector<std::unique_ptr<Who>>& contenders, const Effort& effort) {
  std::vector<Contender*> field;
  for (const auto& contender : contenders) field.push_back(contender.get());
  return time_in_rounds(field, effort);
}

}  // namespace

LayerProfile time_layer(const NetworkLayer& layer, const StepCase& step, const std::vector<std::string>& norms,
                        const Effort& effort) {
  LayerProfile profile{.layer = layer, .sampled = {}, .seconds = {}};
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const auto& norm : norms) {
    contenders.push_back(layer_contender(layer, step, norm));
    profile.sampled.push_back(sampled_part(*models::norm_by_name(norm, layer.sizes[1]), sizes_with(norm, layer, step)));
  }
  profile.seconds = time_all(contenders, effort);
  return profile;
}

std::vector<Seconds> time_steps(const StepCase& step, const std::vector<std::string>& norms, const Effort& effort) {
  std::vector<std::unique_ptr<StepContender>> contenders;
  std::vector<double> losses;
  for (const auto& norm : norms) {
    contenders.push_back(step_contender(step, norm));
    contenders.back()->forward();
    losses.push_back(contenders.back()->loss());
    contenders.back()->release();
  }
  check_losses(norms, losses);
  return time_all(contenders, effort);
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
