// What holds for every network: its size, its names, its shapes, and that it trains with every norm.

#include "models/model.h"

#include <set>

#include "models/norm_by_name.h"
#include "models/testing.h"
#include "samplenorm/error.h"

namespace samplenorm::models {
namespace {

using testing::images;
using testing::seeded_model;
using testing::train_on;

/// The smallest images that make sense for it, to be quick.
int64_t test_side(const ModelInfo& model) { return model.side == 224 ? 32 : 16; }

std::string message_of(const std::string& model, const ModelOptions& options) {
  try {
    make_model(model, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Models, HaveThePublishedNumbersOfParameters) {
  for (const ModelInfo& model : models()) {
    const int64_t published_classes = model.side == 224 ? 1000 : 10;
    int64_t count = 0;
    for (const auto& parameter : make_model(model.name, {.classes = published_classes})->parameters())
      count += parameter.numel();
    EXPECT_EQ(count, model.parameters) << model.name;
  }
  EXPECT_EQ(model_info("resnet20").parameters, 269'722);
  EXPECT_EQ(model_info("resnet56").parameters, 853'018);
  EXPECT_EQ(model_info("resnet18").parameters, 11'689'512);
  EXPECT_EQ(model_info("resnet34").parameters, 21'797'672);
  EXPECT_EQ(model_info("resnet50").parameters, 25'557'032);
  EXPECT_EQ(model_info("resnet101").parameters, 44'549'160);
  EXPECT_EQ(model_info("densenet121").parameters, 7'978'856);
  EXPECT_EQ(model_info("mobilenet_v2").parameters, 3'504'872);
}

TEST(Models, GiveALogitForEachClass) {
  const torch::NoGradGuard no_gradients;
  for (const ModelInfo& model : models()) {
    auto network = make_model(model.name, {.norm = "BN", .classes = 7, .channels = 2});
    const int64_t side = test_side(model);
    EXPECT_EQ(network->forward(torch::randn({2, 2, side, side})).sizes(), torch::IntArrayRef({2, 7})) << model.name;
  }
}

TEST(Models, HaveConvolutionsInChannelsLast) {
  for (const ModelInfo& model : models())
    for (const auto& parameter : make_model(model.name, {})->named_parameters()) {
      if (parameter.value().dim() != 4) continue;
      EXPECT_TRUE(parameter.value().is_contiguous(torch::MemoryFormat::ChannelsLast)) << model.name << parameter.key();
    }
}

TEST(Models, TrainWithEveryNorm) {
  for (const char* name : {"small", "resnet20", "resnet18", "resnet50", "densenet121", "mobilenet_v2"}) {
    const ModelInfo model = model_info(name);
    const torch::Tensor x = images(4, test_side(model));
    for (const char* norm : {"torch", "BN", "LS-1/64", "FS-1/64", "GN-8", "none"}) {
      auto network = seeded_model(name, norm);
      EXPECT_TRUE(train_on(*network, x).isfinite().all().item<bool>()) << name << " " << norm;
      for (const auto& parameter : network->named_parameters()) {
        ASSERT_TRUE(parameter.value().grad().defined()) << name << " " << norm << " " << parameter.key();
        EXPECT_TRUE(parameter.value().grad().isfinite().all().item<bool>()) << name << " " << norm << parameter.key();
      }
    }
  }
}

TEST(Models, HaveTheSameNamesWithLibtorchsNormAndOurs) {
  for (const char* name : {"resnet20", "resnet50", "densenet121", "mobilenet_v2"}) {
    const auto names = [&](const char* norm) {
      const auto network = make_model(name, {.norm = norm});
      std::vector<std::string> all = network->named_parameters().keys();
      for (const auto& buffer : network->named_buffers()) all.push_back(buffer.key());
      return all;
    };
    EXPECT_EQ(names("torch"), names("LS-1/64")) << name;
  }
}

TEST(Models, ReturnTheActivationsInChannelsLast) {
  // What the norms see; a network that falls out of the format gets slow without a word.
  struct Watching : Norm {
    using Norm::Norm;
    torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual) override {
      EXPECT_TRUE(x.is_contiguous(torch::MemoryFormat::ChannelsLast)) << x.sizes();
      if (!residual.defined()) return x.relu();
      EXPECT_TRUE(residual.is_contiguous(torch::MemoryFormat::ChannelsLast)) << residual.sizes();
      return (x + residual).relu();
    }
  };
  ModelOptions options;
  options.make_norm = [](int64_t channels, bool activated) {
    return std::make_shared<Watching>(NormOptions(channels).relu(activated));
  };
  for (const ModelInfo& model : models()) seeded_model(model.name, options)->forward(images(2, test_side(model)));
}

TEST(Models, OfSeluTrainWithoutNormAndWithoutARelu) {
  const auto x = images(4, 16);
  auto network = seeded_model("resnet20", ModelOptions{.norm = "none", .activation = "selu"});
  const auto logits = train_on(*network, x);
  EXPECT_TRUE(logits.isfinite().all().item<bool>());
  for (const auto& parameter : network->parameters()) EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
  EXPECT_GT((logits - seeded_model("resnet20", "none")->forward(x)).abs().max().item<double>(), 1e-3);
  EXPECT_LT(norm_of_model({.norm = "none", .activation = "selu"}, 4, true)
                ->forward(-torch::ones({1, 4}))
                .max()
                .item<double>(),
            -1);
}

TEST(Models, OfSeluBeginWithLeCunsDeviations) {
  for (const auto& parameter :
       seeded_model("resnet34", ModelOptions{.norm = "none", .activation = "selu"})->named_parameters()) {
    const torch::Tensor& weight = parameter.value();
    if (weight.numel() < 10'000) continue;
    const double fan_in = static_cast<double>(weight.numel() / weight.size(0));
    EXPECT_NEAR(weight.std().item<double>() * std::sqrt(fan_in), 1, 0.05) << parameter.key();
  }
}

TEST(Models, BeginWithHesDeviations) {
  const auto check = [](const char* model, bool fan_out) {
    for (const auto& parameter : seeded_model(model, "BN")->named_parameters()) {
      const torch::Tensor& weight = parameter.value();
      if (weight.dim() != 4 || weight.numel() < 10'000) continue;
      const double fan = static_cast<double>(weight.numel() / weight.size(fan_out ? 1 : 0));
      EXPECT_NEAR(weight.std().item<double>() * std::sqrt(fan / 2), 1, 0.05) << model << " " << parameter.key();
    }
  };
  check("resnet50", true);
  check("densenet121", false);
  check("mobilenet_v2", true);
}

TEST(Models, OfSeluRefuseANorm) {
  EXPECT_EQ(message_of("resnet20", {.norm = "LS-1/64", .activation = "selu"}),
            "SELU stands in place of a norm, expected norm none with it, got LS-1/64");
}

TEST(Models, NameWhatIsWrong) {
  EXPECT_EQ(
      message_of("resnet19", {}),
      "unknown model 'resnet19', expected one of small, resnet8, resnet20, resnet32, resnet44, resnet56, resnet110, "
      "resnet18, resnet34, resnet50, resnet101, densenet121, mobilenet_v2");
  EXPECT_EQ(message_of("resnet20", {.norm = "BN", .activation = "tanh"}),
            "unknown activation 'tanh', expected relu or selu");
  EXPECT_EQ(message_of("resnet20", {.classes = 0}), "expected a model with at least 1 class, got 0");
  EXPECT_EQ(message_of("resnet20", {.channels = -1}), "expected a model with at least 1 channel, got -1");
  EXPECT_NE(message_of("resnet20", {.norm = "XS-1/64"}).find("unknown norm 'XS'"), std::string::npos);
  EXPECT_NE(message_of("resnet20", {.norm = "GN-32"}).find("divides the 16 channels"), std::string::npos);
}

}  // namespace
}  // namespace samplenorm::models
