#pragma once

#include "models/model.h"

namespace samplenorm::models {

/// The ResNets of He et al. 2016, section 4.2, for images of 32 x 32: three stages of (depth - 2) / 6 basic blocks with
/// 16, 32 and 64 channels. Shortcuts are the paper's option A: where a stage begins, every second point of the map,
/// padded with channels of zeros, without parameters. Names as in torchvision's ResNets: layer1 to layer3, then fc.
std::shared_ptr<Network> make_cifar_resnet(const ModelOptions& options, int64_t depth);

}  // namespace samplenorm::models
