#include "bench/profile_prediction.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>

#include "bench/limit.h"
#include "bench/quartiles.h"
#include "bench/stopwatch.h"

namespace samplenorm::bench {
namespace {

/// While it lives, torch and OpenMP work with this number of threads.
class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace

std::optional<PredictedStep> predict(const Profile& profile, size_t norm, const Machine& machine) {
  const double faster = static_cast<double>(machine.cores) / profile.threads;
  const double layers_here = layers_seconds(profile, norm, &Seconds::both);
  // Layers alone can take longer than within a short, noisy step.
  const double rest_here = std::max(0.0, step_seconds(profile, norm, &Seconds::both) - layers_here);
  PredictedStep predicted{.rest = rest_here / faster, .layers = 0};
  for (const auto& layer : profile.layers) {
    const auto& bytes = layer.bytes.at(norm);
    if (!bytes) return std::nullopt;
    const auto count = static_cast<double>(layer.layer.count());
    const auto longer = [&](double moved, Phase phase) {
      return std::max(count * moved / machine.bytes_per_second, seconds_of(layer, norm, phase) / faster);
    };
    predicted.layers += longer(bytes->forward, &Seconds::forward) + longer(bytes->backward, &Seconds::backward);
  }
  return predicted;
}

std::optional<double> predicted_speed(const Profile& profile, size_t norm, const Machine& machine) {
  const auto reference = predict(profile, 0, machine), own = predict(profile, norm, machine);
  if (!reference || !own) return std::nullopt;
  return reference->step() / own->step();
}

std::optional<double> error_of(const PredictionCheck& check, size_t norm) {
  if (!check.predicted.at(norm)) return std::nullopt;
  return check.predicted[norm]->step() / check.measured.at(norm) - 1;
}

PredictionCheck check_prediction(const Profile& one, const Profile& all, double bytes_per_second) {
  PredictionCheck check{.from_threads = one.threads,
                        .machine = {.cores = all.threads, .bytes_per_second = bytes_per_second},
                        .predicted = {},
                        .measured = {}};
  for (size_t i = 0; i < all.norms.size(); ++i) {
    check.predicted.push_back(predict(one, i, check.machine));
    check.measured.push_back(step_seconds(all, i, &Seconds::both));
  }
  return check;
}

Profile measure_profile_with(int threads, const StepCase& step, const std::vector<std::string>& norms,
                             const Effort& effort, const ProfileListener& listener) {
  const Threads meanwhile(threads);
  return measure_profile(step, norms, effort, listener);
}

double copy_bandwidth(int64_t floats, int rounds) {
  const auto from = torch::ones({floats}), to = torch::zeros({floats});  // torch aligns them to 64 bytes
  double best = 0;
  for (const Stores stores : {Stores::kOrdinary, Stores::kStreaming}) {
    std::vector<double> seconds;
    for (int i = 0; i < rounds; ++i) {
      const Stopwatch watch;
      copy(from.data_ptr<float>(), to.data_ptr<float>(), floats, stores);
      seconds.push_back(watch.seconds());
    }
    best = std::max(best, 2.0 * sizeof(float) * static_cast<double>(floats) / quartiles(seconds).median);
  }
  return best;
}

}  // namespace samplenorm::bench
