#pragma once

// A run's state to and from a checkpoint.

#include <torch/types.h>

#include <string>

#include "models/model.h"
#include "train/checkpoint.h"
#include "train/sgd.h"

namespace samplenorm::train {

/// What an epoch has summed up so far.
struct EpochSums {
  int64_t steps = 0;
  int64_t images = 0;
  int64_t right = 0;  ///< images put into the right class
  double loss = 0;    ///< of the steps
  double seconds = 0;
  double waited_seconds = 0;
  int64_t skipped_images = 0;
};

/// The tensors of a checkpoint: copies, which later steps do not change.
NamedTensors state_of(const models::Network& network, const Sgd& optimizer, const EpochSums& sums);

/// Puts the network's parameters and buffers back. `where` names the checkpoint. Throws Error if it is of another
/// network.
void restore(models::Network& network, const NamedTensors& tensors, const std::string& where);
/// The rest: momentum and sums.
void restore(Sgd& optimizer, EpochSums& sums, const NamedTensors& tensors, const std::string& where);

}  // namespace samplenorm::train
