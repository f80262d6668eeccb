#pragma once

// What is trained: a recipe's network, the virtual rows that its norm wants at its input, and its precision.

#include <torch/nn/module.h>
#include <torch/types.h>

#include <memory>

#include "data/loader.h"
#include "models/model.h"
#include "samplenorm/virtual_batch.h"
#include "train/recipe.h"

namespace samplenorm::train {

/// What make_model() needs to know of a recipe and its data set. `make_norm`: as in ModelOptions.
models::ModelOptions model_options(const Recipe& recipe, const data::DataSet& set,
                                   const models::MakeNorm& make_norm = {});

class Trainee : public torch::nn::Module {
 public:
  /// Fresh weights from the recipe's seed. Throws Error.
  Trainee(const Recipe& recipe, const data::DataSet& set) : Trainee(recipe, set, model_options(recipe, set)) {}
  /// With options of the caller's, e.g. norms that are watched.
  Trainee(const Recipe& recipe, const data::DataSet& set, const models::ModelOptions& options);

  /// Makes the virtual rows that the norm wants in training: those of VDN from the statistics of training inputs, those
  /// of VBN from the first inputs. Where the data set is not normalized with its own mean and deviation, those of the
  /// inputs are taken from about the first thousand. They depend on the loader's seed only, so that they are made anew,
  /// and the same, when a run is resumed. The loader gives whole batches, also to one of several processes.
  void add_virtual_rows(data::Loader& training);

  /// Logits in float32, of the real images only.
  torch::Tensor forward(const torch::Tensor& images);

  models::Network& network() { return *network_; }
  const models::Network& network() const { return *network_; }

 private:
  std::string precision_;
  uint64_t seed_;
  int64_t channels_;
  bool own_statistics_;  // of the data set: inputs have mean 0 and deviation 1
  std::shared_ptr<models::Network> network_;
  VirtualBatch virtual_batch_{nullptr};
};

}  // namespace samplenorm::train
