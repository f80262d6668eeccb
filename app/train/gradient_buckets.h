#pragma once

// Gradients averaged over the processes of a run, in buckets of about a megabyte: fewer and larger calls than one for
// each parameter, and the first of them go out while backward still works on the layers before.

#include <torch/types.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "samplenorm/communicator.h"

namespace samplenorm::train {

class GradientBuckets {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;

  /// All ranks have the same parameters (float32), in the order of registration: backward comes to the last one first,
  /// and so do the buckets, each of `least_bytes` or more (but for the last). While this lives, the parameters' hooks
  /// for accumulated gradients are its own. All ranks call it, since the communicator is duplicated.
  GradientBuckets(std::vector<torch::Tensor> parameters, Communicator& communicator, size_t least_bytes = kBytes);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// To be called after each backward: waits until every gradient is the mean over the ranks, the same bits on each. A
  /// gradient that only other ranks have counts as zero here; one that no rank has stays undefined. Throws what went
  /// wrong meanwhile.
  void finish();

  Traffic traffic() const;

 private:
  class Worker;
  class Hook;
  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace samplenorm::train
