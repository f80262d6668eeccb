#pragma once

// Contenders made of a network: one of its layers alone, and a whole training step.

#include <memory>
#include <string>

#include "bench/contender.h"
#include "bench/network_layers.h"
#include "models/model.h"
#include "samplenorm/virtual_batch.h"

namespace samplenorm::bench {

/// The network that is timed and what goes into it.
struct StepCase {
  std::string model;
  torch::Tensor images;
  torch::Tensor labels;
  int64_t classes = 10;
};
/// Random images (batch, 3, side, side) in channels_last, the same at every call.
StepCase make_step_case(const std::string& model, int64_t batch, int64_t side);

/// Sizes of the layer's input with this norm: those with virtual rows get these on top of the batch.
std::vector<int64_t> sizes_with(const std::string& norm, const NetworkLayer& layer, const StepCase& step);

/// A layer with this norm, through autograd, in channels_last. Where the network concatenates its inputs, that is a
/// part of the layer, which sampled norms do without.
std::unique_ptr<Contender> layer_contender(const NetworkLayer& layer, const StepCase& step, const std::string& norm);

class StepContender : public Contender {
 public:
  /// Of the last forward().
  virtual double loss() = 0;
  LayerAnswer answer() override { return {}; }
};

/// The case's network with this norm; its weights are the same at every call and for all norms.
std::shared_ptr<models::Network> make_network(const StepCase& step, const std::string& norm);

/// What puts the rows before a batch that the network's norms expect there; empty where they expect none.
VirtualBatch virtual_batch_of(const models::Network& network, const torch::Tensor& images);

/// forward(): network and loss; backward(): gradients and the optimizer's update, at rate 0, so that the weights stay
/// what they are, the same for all norms.
std::unique_ptr<StepContender> step_contender(const StepCase& step, const std::string& norm);

}  // namespace samplenorm::bench
