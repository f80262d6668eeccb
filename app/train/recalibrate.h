#pragma once

// Running statistics recomputed exactly. A sample gives good statistics to train with, but the running ones inherit its
// bias (a patch in a corner, a few virtual rows); so, before an evaluation, they are computed anew from whole batches.

#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>

#include "models/model.h"

namespace samplenorm::train {

/// A network for evaluation that shares its weights with `network` (made as `name` with `options`) and has running
/// statistics of its own: for each norm the mean over all images of `batches`, and the mean of the batches' (unbiased)
/// variances plus the variance of their means; which is the variance over all images, up to a part of 1/(values in a
/// batch). While they are computed, every norm normalizes with the exact statistics of its whole batch: with the old
/// running ones the deeper layers would see inputs that they do not get afterwards. `network` itself is not changed.
/// `next` gives batches of images until it gives nothing. Null if the norm keeps no running statistics.
std::shared_ptr<models::Network> recalibrated(const models::Network& network, const std::string& name,
                                              const models::ModelOptions& options, const std::string& precision,
                                              const std::function<std::optional<torch::Tensor>()>& next);

}  // namespace samplenorm::train
