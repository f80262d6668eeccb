#pragma once

// What takes part in the timing. The object that is timed is the one whose answer was checked.

#include <memory>
#include <string>
#include <vector>

#include "bench/layer_case.h"
#include "bench/limit.h"

namespace samplenorm::bench {

class Contender {
 public:
  virtual ~Contender() = default;

  /// forward(), backward() and release() are called in turn. The first two allocate what they compute, as a network's
  /// layers do.
  virtual void forward() = 0;
  virtual void backward() = 0;
  /// What they computed.
  virtual LayerAnswer answer() = 0;
  virtual void release() = 0;
  /// How many layers a call runs through.
  virtual int layers() const { return 1; }
};

/// A layer as users call it: torch's or ours, through autograd.
std::unique_ptr<Contender> autograd_contender(std::shared_ptr<Norm> layer, const LayerTensors& tensors);

/// Our operators, called below autograd. Null for a norm that is no sampled batch norm.
std::unique_ptr<Contender> raw_contender(const std::shared_ptr<Norm>& layer, const LayerTensors& tensors);

/// Several layers of one kind, each with tensors of its own: forward through all of them, then backward in reverse, as
/// in a network, where a layer never finds its tensors in the cache. It gives no answer.
std::unique_ptr<Contender> ring_contender(std::vector<std::unique_ptr<Contender>> layers);

/// Moves the bytes of the case and computes no answer.
std::unique_ptr<Contender> limit_contender(const LayerTensors& tensors, Stores stores);

}  // namespace samplenorm::bench
