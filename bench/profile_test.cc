#include "bench/profile.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace samplenorm::bench {
namespace {

Seconds seconds(double forward, double backward) {
  return {.forward = {forward}, .backward = {backward}, .both = {forward + backward}};
}

/// Two kinds of layers, three and one of them; the second norm is the faster one.
Profile example() {
  LayerProfile often{.layer = {.names = {"a", "b", "c"}, .sizes = {}, .parts = {}},
                     .sampled = {1, 0.1},
                     .bytes = {},
                     .seconds = {seconds(1, 2), seconds(0.5, 1)}};
  LayerProfile once{.layer = {.names = {"d"}, .sizes = {}, .parts = {}},
                    .sampled = {1, 0.1},
                    .bytes = {},
                    .seconds = {seconds(4, 7), seconds(3, 4)}};
  return {.norms = {"torch", "LS-1/64"}, .layers = {often, once}, .steps = {seconds(15, 25), seconds(10, 20)}};
}

TEST(Profile, CountsEveryLayer) {
  EXPECT_DOUBLE_EQ(layers_seconds(example(), 0, &Seconds::forward), 3 * 1 + 4);
  EXPECT_DOUBLE_EQ(layers_seconds(example(), 0, &Seconds::backward), 3 * 2 + 7);
  EXPECT_DOUBLE_EQ(layers_seconds(example(), 1, &Seconds::both), 3 * 1.5 + 7);
}

TEST(Profile, SharesAreOfTheNormsOwnStepAndSavingsOfTheReferences) {
  EXPECT_DOUBLE_EQ(share(example(), 0), 20.0 / 40);
  EXPECT_DOUBLE_EQ(share(example(), 1), 11.5 / 30);
  EXPECT_DOUBLE_EQ(saved_by_layers(example(), 1), (20 - 11.5) / 40);
  EXPECT_DOUBLE_EQ(saved_by_steps(example(), 1), 1 - 30.0 / 40);
  EXPECT_DOUBLE_EQ(saved_by_steps(example(), 0), 0);
}

TEST(NetworkLayers, AreFoundWithTheirFusionsAndCounts) {
  const auto layers = layers_of("resnet50", torch::randn({2, 3, 64, 64}));
  int64_t all = 0, plain = 0, added = 0;
  for (const auto& layer : layers) {
    all += layer.count();
    if (layer.fusion == Fusion::kNone) plain += layer.count();
    if (layer.fusion == Fusion::kAddRelu) added += layer.count();
  }
  EXPECT_EQ(all, 53);
  EXPECT_EQ(plain, 4);   // downsampling
  EXPECT_EQ(added, 16);  // one a block
  EXPECT_EQ(layers.front().names.front(), "bn1");
  EXPECT_EQ(layers.front().sizes, (std::vector<int64_t>{2, 64, 32, 32}));
}

TEST(NetworkLayers, OfMobileNetV2HaveTheirOwnActivations) {
  const StepCase step = make_step_case("mobilenet_v2", 2, 32);
  const auto activations = activations_of(step);
  std::map<std::string, int64_t> counts;
  for (const auto& layer : layers_of(step.model, step.images))
    for (const auto& name : layer.names) ++counts[fusion_name(layer.fusion, activations.at(name))];
  EXPECT_EQ(counts, (std::map<std::string, int64_t>{{"BN", 7}, {"BN+ReLU6", 35}, {"BN+add", 10}}));
}

TEST(LayerContender, ComputesTheActivationThatTheNetworkHas) {
  const StepCase step = make_step_case("mobilenet_v2", 4, 32);
  const NetworkLayer relu{.names = {"a"}, .sizes = {4, 8, 8, 8}, .parts = {8}, .fusion = Fusion::kRelu};
  const NetworkLayer add{.names = {"b"}, .sizes = {4, 8, 8, 8}, .parts = {8}, .fusion = Fusion::kAddRelu};
  for (const char* norm : {"torch", "BN"}) {
    SCOPED_TRACE(norm);
    const auto output = [&](const NetworkLayer& layer, const char* activation) {
      const auto contender = contender_with(layer, activation, step, norm);
      contender->forward();
      contender->backward();
      return contender->answer().y.detach();
    };
    const auto z = output(relu, "identity");
    EXPECT_LT(z.min().item<double>(), -1);
    EXPECT_TRUE(torch::allclose(output(relu, "relu"), z.clamp_min(0)));
    EXPECT_TRUE(torch::allclose(output(relu, "relu6"), z.clamp(0, 6)));
    EXPECT_LT(output(add, "identity").min().item<double>(), -1);
  }
}

TEST(LayerContender, OfConcatenatedInputsGivesEachNormTheSameNumbers) {
  const StepCase step = make_step_case("densenet121", 4, 32);
  const NetworkLayer layer{.names = {"dense"}, .sizes = {4, 96, 8, 8}, .parts = {64, 32}, .fusion = Fusion::kRelu};
  std::vector<LayerAnswer> answers;
  for (const char* norm : {"torch", "BN"}) {
    const auto contender = layer_contender(layer, step, norm);
    contender->forward();
    contender->backward();
    answers.push_back(contender->answer());
  }
  EXPECT_TRUE(torch::allclose(answers[0].y, answers[1].y, 1e-4, 1e-4));
  EXPECT_TRUE(torch::allclose(answers[0].dx, answers[1].dx, 1e-3, 1e-3));
}

TEST(LayerContender, HasVirtualRowsOnTopOfTheBatch) {
  const StepCase step = make_step_case("resnet20", 8, 32);
  const NetworkLayer layer{.names = {"bn1"}, .sizes = {8, 16, 32, 32}, .parts = {16}, .fusion = Fusion::kRelu};
  EXPECT_EQ(sizes_with("LS-1/64", layer, step)[0], 8);
  EXPECT_EQ(sizes_with("FS-1/64+VDN-2/128", layer, step)[0], 10);
  EXPECT_EQ(sizes_with("VDN-2/128;stat_batch=4", layer, step)[0], 12);
  const auto contender = layer_contender(layer, step, "FS-1/64+VDN-2/128");
  contender->forward();
  contender->backward();
  EXPECT_EQ(contender->answer().dx.size(0), 10);
}

TEST(StepContender, LeavesTheWeightsWhereTheyAre) {
  const auto contender = step_contender(make_step_case("resnet20", 8, 32), "BN");
  double first = 0;
  for (int i = 0; i < 3; ++i) {
    contender->forward();
    if (i == 0) first = contender->loss();
    EXPECT_NEAR(contender->loss(), first, 1e-6);
    contender->backward();
    contender->release();
  }
}

}  // namespace
}  // namespace samplenorm::bench
