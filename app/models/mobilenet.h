#pragma once

#include "models/model.h"

namespace samplenorm::models {

/// MobileNetV2 (Sandler et al. 2018) of width 1 as torchvision has it, but without the dropout before the classifier:
/// networks here draw nothing while they train, so that resumed runs and all norms see the same.
std::shared_ptr<Network> make_mobilenet_v2(const ModelOptions& options);

}  // namespace samplenorm::models
