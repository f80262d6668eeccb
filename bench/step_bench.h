#pragma once

// Whole training steps side by side: in this process with several norms, and in others.

#include <memory>
#include <string>
#include <vector>

#include "bench/measurement.h"
#include "bench/network_contenders.h"
#include "bench/rounds.h"

namespace samplenorm::bench {

struct NamedStep {
  std::string name;
  bool exact = false;  ///< whether it is batch norm, so that its loss is that of all others which are
  std::unique_ptr<StepContender> contender;
};

/// Throws Error where a loss is not a number, or exact ones do not agree on it; else times all in turns.
std::vector<Seconds> time_steps(const std::vector<NamedStep>& steps, const Effort& effort);

/// In this process, with this norm.
NamedStep named_step(const StepCase& step, const std::string& norm);

}  // namespace samplenorm::bench
