#pragma once

#include <array>

#include "models/model.h"

namespace samplenorm::models {

/// Blocks in each of the four stages.
using StageBlocks = std::array<int64_t, 4>;

/// The ResNets for ImageNet as torchvision has them: of basic blocks (18, 34), and of bottlenecks (50, 101).
std::shared_ptr<Network> make_basic_resnet(const ModelOptions& options, const StageBlocks& blocks);
std::shared_ptr<Network> make_bottleneck_resnet(const ModelOptions& options, const StageBlocks& blocks);

}  // namespace samplenorm::models
