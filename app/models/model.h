#pragma once

// Every network by its name. Parameters have torchvision's names.

#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "samplenorm/norm.h"

namespace samplenorm::models {

/// Makes a norm; `activated`: the activation is the norm's part.
using MakeNorm = std::function<std::shared_ptr<Norm>(int64_t channels, bool activated)>;

struct ModelOptions {
  /// "torch" for libtorch's own BatchNorm, or what make_norm() knows.
  std::string norm = "LS-1/64";
  int64_t classes = 10;
  int64_t channels = 3;
  /// "relu", or "selu": self-normalizing, to be used with norm "none".
  std::string activation = "relu";
  /// Where set, makes the norms instead of `norm` and `activation`, e.g. to watch them.
  MakeNorm make_norm = {};
};

class Network : public torch::nn::Module {
 public:
  /// Logits of images (N, channels, H, W).
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
};

struct ModelInfo {
  std::string name;
  std::string what;
  int64_t side;        ///< of the images it is meant for
  int64_t parameters;  ///< with the published number of classes
};

/// All networks, in the order of families and depths.
std::vector<ModelInfo> models();
/// Throws Error, with the known names, where there is no such network.
ModelInfo model_info(const std::string& name);

/// A network with fresh weights, drawn from torch's generator; convolutions are in channels_last. Throws Error.
std::shared_ptr<Network> make_model(const std::string& name, const ModelOptions& options);

}  // namespace samplenorm::models
