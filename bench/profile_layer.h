#pragma once

// A layer as the network has it: with its own activation, which Fusion does not tell (ReLU6, or an addition without an
// activation); and the bytes that each norm moves in it.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bench/network_contenders.h"

namespace samplenorm::bench {

/// The activation of every norm of the case's network, by its name: "identity", "relu" or "relu6".
std::map<std::string, std::string> activations_of(const StepCase& step);

/// "BN", "BN+ReLU", "BN+add+ReLU", "BN+ReLU6", "BN+add", ...
std::string fusion_name(Fusion fusion, const std::string& activation);

/// layer_contender() with this activation.
std::unique_ptr<Contender> contender_with(const NetworkLayer& layer, const std::string& activation,
                                          const StepCase& step, const std::string& norm);

/// Bytes between cores and memory in one layer.
struct LayerBytes {
  double forward = 0;
  double backward = 0;
};

/// Counted, not measured: how often the norm's algorithm passes over the activations, times their size (float32). Each
/// pass counts, also where a cache would serve it; what a store reads before it writes does not. `sampled`: the part
/// of the points in the statistics. None for norms whose passes are not known here: all but libtorch's, the sampled
/// ones without stat_batch, and "none".
std::optional<LayerBytes> bytes_of(const NetworkLayer& layer, const std::string& activation, const StepCase& step,
                                   const std::string& norm, double sampled);

}  // namespace samplenorm::bench
