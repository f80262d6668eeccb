#pragma once

// The options of commands that time a network's training step.

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/network_contenders.h"

namespace samplenorm::cli {

struct StepOptions {
  std::string model;
  std::string norms;
  int64_t batch = 0;  ///< 0: by the model
  int64_t side = 0;   ///< the same
  bool quick = false;
  std::string json;

  /// A norm that is asked for twice is timed once.
  std::vector<std::string> norm_names() const;
  bench::StepCase make_case() const;
};

/// The model has to be given unless options.model has a default.
void add_step_options(CLI::App& command, StepOptions& options);

/// "resnet20, 128 images of 32 x 32, float32, channels_last, on AMD EPYC, 2 threads".
std::string describe(const bench::StepCase& step);
/// Adds what describe() says.
void add_to_record(const bench::StepCase& step, nlohmann::json& record);

}  // namespace samplenorm::cli
