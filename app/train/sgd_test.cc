#include "train/sgd.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/model.h"

namespace samplenorm::train {
namespace {

TEST(Sgd, OnlyWeightsOfConvolutionsAndLinearLayersDecay) {
  const auto network = models::make_model("resnet20", {.norm = "LS-1/64"});
  for (const auto& item : network->named_parameters()) {
    const std::string& name = item.key();
    const bool of_weight_layer =
        name.ends_with(".weight") && (name.find("conv") != std::string::npos || name.find("fc") != std::string::npos);
    EXPECT_EQ(decays(item.value()), of_weight_layer) << name;
  }
}

struct Linear : torch::nn::Module {
  Linear() { layer = register_module("layer", torch::nn::Linear(3, 2)); }
  torch::nn::Linear layer{nullptr};
};

/// Three steps of ours and of libtorch's SGD from the same weights.
void compare_with_libtorch(bool nesterov) {
  torch::manual_seed(1);
  Linear ours, theirs;
  {
    const torch::NoGradGuard no_gradients;
    for (size_t i = 0; i < 2; ++i) theirs.parameters()[i].copy_(ours.parameters()[i]);
  }
  Sgd optimizer(ours, {.momentum = 0.9, .nesterov = nesterov, .weight_decay = 0.1});
  using Group = torch::optim::OptimizerParamGroup;
  const auto options = torch::optim::SGDOptions(0.05).momentum(0.9).nesterov(nesterov);
  torch::optim::SGD reference(
      std::vector<Group>{Group({theirs.layer->weight}, std::make_unique<torch::optim::SGDOptions>(
                                                           torch::optim::SGDOptions(options).weight_decay(0.1))),
                         Group({theirs.layer->bias}, std::make_unique<torch::optim::SGDOptions>(options))},
      options);
  for (int i = 0; i < 3; ++i) {
    const auto x = torch::randn({4, 3});
    optimizer.clear_gradients();
    reference.zero_grad();
    ours.layer(x).square().sum().backward();
    theirs.layer(x).square().sum().backward();
    optimizer.step(0.05);
    reference.step();
  }
  EXPECT_TRUE(torch::allclose(ours.layer->weight, theirs.layer->weight, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(ours.layer->bias, theirs.layer->bias, 1e-5, 1e-6));
}

TEST(Sgd, StepsAreThoseOfLibtorch) { compare_with_libtorch(false); }
TEST(Sgd, NesterovStepsAreThoseOfLibtorch) { compare_with_libtorch(true); }

}  // namespace
}  // namespace samplenorm::train
