#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "data/loader.h"
#include "samplenorm/communicator.h"

namespace samplenorm::train {

struct Scores {
  double loss = 0;  ///< mean cross entropy
  double top1 = 0;  ///< part of the images whose class is the likeliest, from 0 to 1
  double top5 = 0;  ///< part whose class is among the five likeliest
};

/// How many of the labels are among the `count` largest logits.
int64_t right_among(const torch::Tensor& logits, const torch::Tensor& labels, int64_t count);

/// Scores over all batches of `test`, of which each of several processes has its share. Nothing if stop_asked() said so
/// meanwhile, on any of them.
std::optional<Scores> score(const std::function<torch::Tensor(const torch::Tensor&)>& forward, data::Loader& test,
                            const std::function<bool()>& stop_asked,
                            const std::shared_ptr<Communicator>& communicator = single_process());

}  // namespace samplenorm::train
