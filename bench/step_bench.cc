#include "bench/step_bench.h"

#include <fmt/format.h>

#include <cmath>

#include "bench/goals.h"
#include "samplenorm/error.h"

namespace samplenorm::bench {
namespace {

constexpr double kLossTolerance = 1e-3;  // rounding grows from layer to layer

/// What is timed must be training, and the exact ones the same training.
void check_losses(const std::vector<NamedStep>& steps) {
  const NamedStep* first = nullptr;
  double expected = 0;
  for (const auto& step : steps) {
    step.contender->forward();
    const double loss = step.contender->loss();
    step.contender->release();
    if (!std::isfinite(loss)) throw Error(fmt::format("{}: expected a finite loss, got {}", step.name, loss));
    if (!step.exact) continue;
    if (first == nullptr) {
      first = &step;
      expected = loss;
    }
    if (std::abs(loss - expected) > kLossTolerance * std::abs(expected))
      throw Error(fmt::format("{}: expected the loss {} of {}, got {}", step.name, expected, first->name, loss));
  }
}

}  // namespace

std::vector<Seconds> time_steps(const std::vector<NamedStep>& steps, const Effort& effort) {
  check_losses(steps);
  std::vector<Contender*> contenders;
  for (const auto& step : steps) contenders.push_back(step.contender.get());
  return time_in_rounds(contenders, effort);
}

NamedStep named_step(const StepCase& step, const std::string& norm) {
  return {norm, norm == kTorch || norm == kExactNorm, step_contender(step, norm)};
}

}  // namespace samplenorm::bench
