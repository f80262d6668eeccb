#pragma once

#include "models/model.h"

namespace samplenorm::models {

/// DenseNet-121 (Huang et al. 2017) as torchvision has it. Each layer of a block normalizes all earlier maps of the
/// block together: sampled norms do so without concatenating them.
std::shared_ptr<Network> make_densenet121(const ModelOptions& options);

}  // namespace samplenorm::models
