// Names are torchvision's, so that checkpoints go from one to the other.

#include <algorithm>

#include "models/testing.h"

namespace samplenorm::models {
namespace {

/// Names with this prefix, parameters and buffers, sorted.
std::vector<std::string> names(const std::string& model, const std::string& prefix) {
  const auto network = make_model(model, {});
  std::vector<std::string> found;
  const auto keep = [&](const std::string& name) {
    if (name.starts_with(prefix)) found.push_back(name);
  };
  for (const auto& parameter : network->named_parameters()) keep(parameter.key());
  for (const auto& buffer : network->named_buffers()) keep(buffer.key());
  std::sort(found.begin(), found.end());
  return found;
}

/// Those of a convolution "name" -> {name.weight}, of a norm -> its five tensors.
std::vector<std::string> expected(const std::vector<std::string>& convolutions, const std::vector<std::string>& norms) {
  std::vector<std::string> all;
  for (const auto& name : convolutions) all.push_back(name + ".weight");
  for (const auto& name : norms)
    for (const char* tensor : {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"})
      all.push_back(name + "." + tensor);
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Names, OfResNet50sFirstBlockAreTorchvisions) {
  EXPECT_EQ(names("resnet50", "layer1.0."),
            expected({"layer1.0.conv1", "layer1.0.conv2", "layer1.0.conv3", "layer1.0.downsample.0"},
                     {"layer1.0.bn1", "layer1.0.bn2", "layer1.0.bn3", "layer1.0.downsample.1"}));
}

TEST(Names, OfResNet18sBlocksAreTorchvisions) {
  EXPECT_EQ(names("resnet18", "layer1.0."),
            expected({"layer1.0.conv1", "layer1.0.conv2"}, {"layer1.0.bn1", "layer1.0.bn2"}));
  EXPECT_EQ(names("resnet18", "layer2.0."), expected({"layer2.0.conv1", "layer2.0.conv2", "layer2.0.downsample.0"},
                                                     {"layer2.0.bn1", "layer2.0.bn2", "layer2.0.downsample.1"}));
}

TEST(Names, OfResNetsEndsAreTorchvisions) {
  for (const char* model : {"resnet18", "resnet50", "resnet20"}) {
    EXPECT_EQ(names(model, "conv1"), expected({"conv1"}, {})) << model;
    EXPECT_EQ(names(model, "bn1"), expected({}, {"bn1"})) << model;
    EXPECT_EQ(names(model, "fc"), (std::vector<std::string>{"fc.bias", "fc.weight"})) << model;
  }
}

TEST(Names, OfResNetsAreAsManyAsTorchvisionsStateDictHas) {
  EXPECT_EQ(names("resnet18", "").size(), 122u);
  EXPECT_EQ(names("resnet50", "").size(), 320u);
  EXPECT_EQ(names("densenet121", "").size(), 727u);
  EXPECT_EQ(names("mobilenet_v2", "").size(), 314u);
}

TEST(Names, OfCifarResNetsHaveNoDownsampling) {
  EXPECT_EQ(names("resnet20", "layer2.0."),
            expected({"layer2.0.conv1", "layer2.0.conv2"}, {"layer2.0.bn1", "layer2.0.bn2"}));
  EXPECT_EQ(names("resnet56", "layer3.8.conv2"), expected({"layer3.8.conv2"}, {}));
  EXPECT_TRUE(names("resnet56", "layer3.9.").empty());
  EXPECT_TRUE(names("resnet56", "layer4").empty());
}

TEST(Names, OfDenseNetAreTorchvisions) {
  const std::string layer = "features.denseblock1.denselayer1.";
  EXPECT_EQ(names("densenet121", layer),
            expected({layer + "conv1", layer + "conv2"}, {layer + "norm1", layer + "norm2"}));
  EXPECT_EQ(names("densenet121", "features.transition1"),
            expected({"features.transition1.conv"}, {"features.transition1.norm"}));
  EXPECT_EQ(names("densenet121", "features.conv0"), expected({"features.conv0"}, {}));
  EXPECT_EQ(names("densenet121", "features.norm"), expected({}, {"features.norm0", "features.norm5"}));
  EXPECT_EQ(names("densenet121", "classifier"), (std::vector<std::string>{"classifier.bias", "classifier.weight"}));
  EXPECT_FALSE(names("densenet121", "features.denseblock4.denselayer16.conv2").empty());
  EXPECT_TRUE(names("densenet121", "features.denseblock4.denselayer17").empty());
}

TEST(Names, OfMobileNetV2AreTorchvisions) {
  EXPECT_EQ(names("mobilenet_v2", "features.0."), expected({"features.0.0"}, {"features.0.1"}));
  const std::string first = "features.1.conv.", second = "features.2.conv.";
  EXPECT_EQ(names("mobilenet_v2", first), expected({first + "0.0", first + "1"}, {first + "0.1", first + "2"}));
  EXPECT_EQ(names("mobilenet_v2", second),
            expected({second + "0.0", second + "1.0", second + "2"}, {second + "0.1", second + "1.1", second + "3"}));
  EXPECT_EQ(names("mobilenet_v2", "features.18"), expected({"features.18.0"}, {"features.18.1"}));
  EXPECT_TRUE(names("mobilenet_v2", "features.19").empty());
  EXPECT_EQ(names("mobilenet_v2", "classifier"),
            (std::vector<std::string>{"classifier.1.bias", "classifier.1.weight"}));
}

}  // namespace
}  // namespace samplenorm::models
