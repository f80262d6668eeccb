#pragma once

// What the families share: convolutions without a bias (a norm follows), and their first weights.

#include <torch/nn/modules/conv.h>

#include "models/model.h"

namespace samplenorm::models {

/// Square, padded so that stride 1 keeps the sides (of an odd kernel). groups = inputs: each channel by itself.
torch::nn::Conv2d convolution(int64_t inputs, int64_t outputs, int64_t kernel, int64_t stride = 1, int64_t groups = 1);

/// What He's initialization keeps the variance of: the signals forward (fan in) or the gradients backward (fan out).
enum class Keep { kForward, kBackward };

/// Draws every convolution's weights by He et al. 2015. A SELU network needs LeCun's instead, 1 / fan in, in its linear
/// layers too, whose biases become 0.
void initialize(torch::nn::Module& network, const ModelOptions& options, Keep keep);

}  // namespace samplenorm::models
