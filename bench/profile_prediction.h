#pragma once

// A training step on a larger machine, predicted from a profile by a roofline model; and the model checked here, where
// the step of all threads is predicted from that of one.

#include <array>
#include <optional>
#include <vector>

#include "bench/profile.h"

namespace samplenorm::bench {

inline constexpr const char* kPredictionModel =
    "Prediction by a roofline model, not a measurement: what is not normalization takes its time here x threads here / "
    "cores; a normalization, with its activation and addition, takes the longer of its bytes / bandwidth and its time "
    "here x threads here / cores.";

inline constexpr std::array kPredictionAssumptions = {
    "Work divides evenly among the cores, and each core is as fast as one here.",
    "Bytes are counted: the passes of the norm's algorithm over the activations, times their size.",
    "Every pass goes to memory, whatever caches hold; what a store reads before it writes does not count.",
    "A normalization's time here is that of the layer alone; what is not normalization is the step less these layers.",
};

struct Machine {
  int64_t cores = 1;
  double bytes_per_second = 0;
};

struct PredictedStep {
  double rest = 0;    ///< seconds of what is not normalization
  double layers = 0;  ///< of the layers: normalization, activation and addition
  double step() const { return rest + layers; }
  double share() const { return layers / step(); }
};

/// By the model, for the norm with this number; none where its bytes are not known.
std::optional<PredictedStep> predict(const Profile& profile, size_t norm, const Machine& machine);

/// How many times faster than the reference's the norm's step is predicted to be; none where either is not predicted.
std::optional<double> predicted_speed(const Profile& profile, size_t norm, const Machine& machine);

/// The model's answer for this machine's own threads.
struct PredictionCheck {
  int from_threads = 1;
  Machine machine;  ///< as many cores as threads here, and the bandwidth that they reach in a copy
  std::vector<std::optional<PredictedStep>> predicted;  ///< of each norm, from the profile with from_threads
  std::vector<double> measured;                         ///< seconds of the step
};

/// predicted / measured - 1; none where there is no prediction.
std::optional<double> error_of(const PredictionCheck& check, size_t norm);

/// `one`: the profile with fewer threads than `all`, of the same norms.
PredictionCheck check_prediction(const Profile& one, const Profile& all, double bytes_per_second);

/// measure_profile() with this number of threads, which then is again what it was.
Profile measure_profile_with(int threads, const StepCase& step, const std::vector<std::string>& norms,
                             const Effort& effort, const ProfileListener& listener);

/// Bytes a second, read and written together, of copy() on all threads with the stores that are faster: the median of
/// `rounds` copies of `floats` values, which should be several times as large as the caches.
double copy_bandwidth(int64_t floats, int rounds);

}  // namespace samplenorm::bench
