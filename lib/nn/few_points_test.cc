// One warning a model, where a layer's sample has few points.

#include <c10/util/Exception.h>

#include "nn/testing.h"
#include "samplenorm/samplenorm.h"

namespace samplenorm {
namespace {

/// Keeps warnings while it lives.
class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { messages.push_back(warning.msg()); }
  std::vector<std::string> messages;

 private:
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

SampledBatchNorm2d layer_of(const std::string& spec) { return SampledBatchNorm2d(NormOptions(3).spec(spec)); }

torch::nn::Sequential model_of(const std::string& spec) {
  torch::nn::Sequential model(layer_of(spec), torch::nn::AvgPool2d(torch::nn::AvgPool2dOptions(2)), layer_of(spec),
                              torch::nn::AvgPool2d(torch::nn::AvgPool2dOptions(2)), layer_of(spec));
  set_seed(*model, 1);
  return model;
}

TEST(FewPoints, OfAModelAreOneWarningThatNamesTheWorstLayer) {
  Warnings warnings;
  torch::nn::Sequential model = model_of("FS-1/16");
  for (int step = 0; step < 3; ++step) model->forward(torch::randn({2, 3, 32, 32}));  // 128, 32 and 8 points
  ASSERT_EQ(warnings.messages.size(), 1U);
  const std::string& message = warnings.messages[0];
  EXPECT_TRUE(has(message, "'FS-1/16'")) << message;
  EXPECT_TRUE(has(message, "of layer 4 from 8 points a channel (1 of 3 layers have fewer than 32)")) << message;
  EXPECT_TRUE(has(message, ";least=32")) << message;
}

TEST(FewPoints, OfALayerAloneAreAWarningOfItsOwn) {
  Warnings warnings;
  SampledBatchNorm2d layer = layer_of("BS-1/8");
  for (int step = 0; step < 3; ++step) layer->forward(torch::randn({8, 3, 2, 3}));
  ASSERT_EQ(warnings.messages.size(), 1U);
  EXPECT_TRUE(has(warnings.messages[0], "of a layer from 6 points a channel")) << warnings.messages[0];
}

TEST(FewPoints, OfAWholeLayerOrOfEnoughOnesAreNoWarning) {
  Warnings warnings;
  for (const std::string spec : {"BN", "LS-1/64", "FS-1/64;least=32", "FS-1/1", "BN;stat_batch=1", "FRS-1/10"})
    for (int step = 0; step < 3; ++step) layer_of(spec)->forward(torch::randn({2, 3, 14, 14}));
  layer_of("BS-1/8")->forward(torch::randn({2, 3, 1, 1}));
  SampledBatchNorm2d evaluated = layer_of("FS-1/64");
  evaluated->eval();
  evaluated->forward(torch::randn({2, 3, 14, 14}));
  layer_of("FS-1/64")->forward(torch::randn({0, 3, 14, 14}));
  EXPECT_EQ(warnings.messages, std::vector<std::string>());
}

TEST(FewPoints, OfALayerThatComesAgainBeforeAllHaveComeAreTold) {
  Warnings warnings;
  torch::nn::Sequential model = model_of("FS-1/64");
  model->ptr(4)->eval();
  model->forward(torch::randn({2, 3, 32, 32}));
  EXPECT_TRUE(warnings.messages.empty());
  model->forward(torch::randn({2, 3, 32, 32}));
  ASSERT_EQ(warnings.messages.size(), 1U);
  EXPECT_TRUE(has(warnings.messages[0], "of layer 2 from 8 points")) << warnings.messages[0];
}

TEST(FewPoints, OfTheSmallestChunkAndOfAllGroupsCount) {
  Warnings warnings;
  layer_of("FS-1/64;stat_batch=64")->forward(torch::randn({65, 3, 8, 8}));  // 64 points, then 2
  ASSERT_EQ(warnings.messages.size(), 1U);
  EXPECT_TRUE(has(warnings.messages[0], "from 2 points")) << warnings.messages[0];
  layer_of("FS-1/64+VDN-2/8")->forward(torch::randn({10, 3, 4, 4}));  // 8 and 32 points
  EXPECT_EQ(warnings.messages.size(), 1U);
  layer_of("VDN-2/8")->forward(torch::randn({10, 3, 2, 2}));
  ASSERT_EQ(warnings.messages.size(), 2U);
  EXPECT_TRUE(has(warnings.messages[1], "More virtual rows")) << warnings.messages[1];
}

TEST(FewPoints, AreToldOnceForALayerAndItsClones) {
  Warnings warnings;
  SampledBatchNorm2d layer = layer_of("FS-1/256");
  const auto copy = std::dynamic_pointer_cast<SampledBatchNorm2dImpl>(layer->clone());
  const auto copy_of_model = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(model_of("FS-1/1")->clone());
  const torch::Tensor x = torch::randn({2, 3, 32, 32});
  copy->forward(x);
  layer->forward(x);
  copy->forward(x);
  EXPECT_EQ(warnings.messages.size(), 1U);
  for (int step = 0; step < 2; ++step) copy_of_model->forward(x);
  EXPECT_EQ(warnings.messages.size(), 1U);
}

}  // namespace
}  // namespace samplenorm
