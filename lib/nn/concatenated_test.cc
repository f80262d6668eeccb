// The module with several inputs, and in its lean mode.

#include <torch/torch.h>

#include "nn/testing.h"
#include "samplenorm/norm.h"

namespace samplenorm {
namespace {

struct Concatenation {
  SampledBatchNorm2d layer;
  std::vector<torch::Tensor> inputs;
};

Concatenation make_concatenation(const std::string& spec, torch::MemoryFormat format) {
  torch::manual_seed(5);
  Concatenation made{SampledBatchNorm2d(NormOptions(48).spec(spec).relu(true)), {}};
  torch::nn::init::uniform_(made.layer->weight, 0.5, 1.5);
  torch::nn::init::uniform_(made.layer->bias, -0.5, 0.5);
  set_seed(*made.layer, 3);
  for (const int64_t channels : {16, 24, 8})
    made.inputs.push_back(torch::randn({6, channels, 9, 7}).contiguous(format).requires_grad_());
  return made;
}

TEST(Concatenated, GivesWhatTheConcatenatedInputGivesInTrainingAndEvaluation) {
  for (const char* spec : {"BN", "FS-1/8", "LS-1/8;least=1"})
    for (const auto format : {torch::MemoryFormat::ChannelsLast, torch::MemoryFormat::Contiguous}) {
      Concatenation parts = make_concatenation(spec, format), whole = make_concatenation(spec, format);
      for (const bool training : {true, false}) {
        parts.layer->train(training);
        whole.layer->train(training);
        const auto y = parts.layer->forward_concatenated(parts.inputs);
        const auto expected = whole.layer->forward(torch::cat(whole.inputs, 1));
        EXPECT_TRUE(y.is_contiguous(format));
        EXPECT_TRUE(torch::allclose(y, expected, 1e-5, 1e-5)) << spec;
        (y * y).sum().backward();
        (expected * expected).sum().backward();
      }
      EXPECT_TRUE(torch::allclose(parts.layer->running_var, whole.layer->running_var));
      EXPECT_TRUE(torch::allclose(parts.layer->weight.grad(), whole.layer->weight.grad(), 1e-4, 1e-3));
      for (size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(torch::allclose(parts.inputs[i].grad(), whole.inputs[i].grad(), 1e-4, 1e-4)) << spec << i;
    }
}

TEST(Concatenated, RefusesAnotherNumberOfChannels) {
  Concatenation made = make_concatenation("LS-1/8;least=1", torch::MemoryFormat::Contiguous);
  const std::vector<torch::Tensor> two(made.inputs.begin(), made.inputs.begin() + 2);
  EXPECT_THROW(made.layer->forward_concatenated(two), c10::Error);
}

TEST(Lean, LayerTrainsLikeTheOneThatKeepsX) {
  torch::manual_seed(6);
  const auto x = torch::randn({8, 16, 10, 10});
  std::vector<torch::Tensor> gradients;
  for (const bool lean : {false, true}) {
    SampledBatchNorm2d layer(NormOptions(16).spec("LS-1/16;least=1").relu(true).lean(lean));
    set_seed(*layer, 4);
    auto input = x.clone().requires_grad_();
    (layer->forward(input) * torch::linspace(-1, 1, 10)).sum().backward();
    gradients.push_back(input.grad());
    gradients.push_back(layer->weight.grad());
  }
  EXPECT_TRUE(torch::allclose(gradients[0], gradients[2], 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(gradients[1], gradients[3], 1e-4, 1e-4));
}

}  // namespace
}  // namespace samplenorm
