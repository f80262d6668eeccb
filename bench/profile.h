#pragma once

// How much of a training step normalization takes. Every kind of layer is timed alone, and the whole step (forward,
// loss, backward, update) too, with all norms in turns. A layer is the norm and what is fused into it: activation,
// residual, and the concatenation where there is one; norm "none" shows what these alone cost.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/measurement.h"
#include "bench/network_contenders.h"
#include "bench/profile_layer.h"
#include "bench/rounds.h"

namespace samplenorm::bench {

inline constexpr Effort kProfileEffort{
    .rounds = 7, .seconds = 0, .repeats = 1, .seconds_per_turn = 3e-3, .settling_calls = 4};

struct LayerProfile {
  NetworkLayer layer;
  std::string activation = "relu";
  std::vector<double> sampled;                   ///< part of the points in the statistics, of each norm
  std::vector<std::optional<LayerBytes>> bytes;  ///< that one such layer moves, of each norm: bytes_of()
  std::vector<Seconds> seconds;                  ///< of one such layer, of each norm
};

struct Profile {
  std::vector<std::string> norms;  ///< the first is the reference
  std::vector<LayerProfile> layers;
  std::vector<Seconds> steps;  ///< of each norm
  int threads = 1;             ///< that it was measured with
};

LayerProfile time_layer(const NetworkLayer& layer, const std::string& activation, const StepCase& step,
                        const std::vector<std::string>& norms, const Effort& effort);

/// Hears that `what` is done, so that `done` of `total` timings are.
using ProfileListener = std::function<void(int64_t done, int64_t total, const std::string& what)>;

/// Whole steps, then every kind of layer, each with all norms in turns.
Profile measure_profile(const StepCase& step, const std::vector<std::string>& norms, const Effort& effort,
                        const ProfileListener& listener);

// Figures of the norm with this number in Profile::norms. Times are medians.

/// Of one kind of layers, all of them together.
double seconds_of(const LayerProfile& layer, size_t norm, Phase phase);
/// Of all layers.
double layers_seconds(const Profile& profile, size_t norm, Phase phase);
double step_seconds(const Profile& profile, size_t norm, Phase phase);
/// The layers' part of the step with the same norm, from 0 to 1.
double share(const Profile& profile, size_t norm);
/// The part of the reference's step that this norm saves: by its layers, and by whole steps.
double saved_by_layers(const Profile& profile, size_t norm);
double saved_by_steps(const Profile& profile, size_t norm);

}  // namespace samplenorm::bench
