#pragma once

// `samplenorm profile --cores 64 --bandwidth 200`: its options, and its tables.

#include <CLI/CLI.hpp>
#include <optional>

#include "bench/profile_prediction.h"

namespace samplenorm::cli {

struct PredictionOptions {
  int64_t cores = 0;                ///< 0: no prediction
  double gigabytes_per_second = 0;  ///< of memory

  /// The machine to predict for; none where none is asked for.
  std::optional<bench::Machine> machine() const;
};

/// Both have to be given, or none.
void add_prediction_options(CLI::App& command, PredictionOptions& options);

/// The model in words, the predicted steps, and the check of the model where there is one.
void print_prediction(const bench::Profile& profile, const bench::Machine& machine,
                      const bench::PredictionCheck* check);

}  // namespace samplenorm::cli
