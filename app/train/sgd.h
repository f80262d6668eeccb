#pragma once

// Stochastic gradient descent with momentum. Its state is one buffer for each parameter, there from the beginning, so
// that a run that was resumed does the same arithmetic as one that was not.

#include <torch/nn/module.h>
#include <torch/types.h>

#include <string>
#include <vector>

namespace samplenorm::train {

struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;  ///< for parameters that decays() tells
};

/// Whether weight decay is for this parameter: weights of convolutions and linear layers, which have more than one
/// dimension, unlike biases and the parameters of norms.
bool decays(const torch::Tensor& parameter);

class Sgd {
 public:
  Sgd(const torch::nn::Module& model, const SgdOptions& options);

  /// g = gradient + weight_decay * w;  v = momentum * v + g;  w -= rate * v, or with Nesterov's momentum
  /// w -= rate * (g + momentum * v). Parameters without a gradient stay as they are.
  void step(double rate);
  void clear_gradients();

  struct Slot {
    std::string name;  ///< of the parameter in the model
    torch::Tensor parameter;
    torch::Tensor velocity;
  };
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  SgdOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace samplenorm::train
