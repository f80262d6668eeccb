// Networks that must compute the same: with our exact norm and with libtorch's; with and without concatenation.

#include "models/norm_by_name.h"
#include "models/testing.h"

namespace samplenorm::models {
namespace {

using testing::difference;
using testing::images;
using testing::seeded_model;
using testing::train_on;

/// Rounding grows from layer to layer, so it is compared in float64.
std::shared_ptr<Network> in_double(std::shared_ptr<Network> network) {
  network->to(torch::kFloat64);
  return network;
}

double largest_value(const torch::Tensor& tensor) { return tensor.abs().max().to(torch::kFloat64).item<double>(); }

using Tensors = torch::OrderedDict<std::string, torch::Tensor>;

/// Differences are in units of the tensor's largest value. What is almost nothing is compared in units of the largest
/// of all: where a norm follows a linear layer after a norm, the mean and the bias's gradient are what rounding leaves.
void expect_equal(const Tensors& actual, const Tensors& expected, double tolerance) {
  double largest = 0;
  for (const auto& item : expected) largest = std::max(largest, largest_value(item.value()));
  for (const auto& item : actual) {
    const auto& other = expected[item.key()];
    const double unit = std::max(largest_value(other), 1e-5 * largest);
    EXPECT_LT(largest_value(item.value() - other), tolerance * unit) << item.key();
  }
}

Tensors gradients_of(const Network& network) {
  Tensors gradients;
  for (const auto& parameter : network.named_parameters()) gradients.insert(parameter.key(), parameter.value().grad());
  return gradients;
}

void expect_equal_gradients(const Network& actual, const Network& expected, double tolerance) {
  expect_equal(gradients_of(actual), gradients_of(expected), tolerance);
}

void expect_equal_buffers(const Network& actual, const Network& expected, double tolerance) {
  expect_equal(actual.named_buffers(), expected.named_buffers(), tolerance);
}

TEST(ExactNorm, TrainsNetworksAsLibtorchsDoes) {
  for (const auto& [name, side] : {std::pair("small", 16),
                                   {"resnet20", 16},
                                   {"resnet18", 32},
                                   {"resnet50", 32},
                                   {"densenet121", 32},
                                   {"mobilenet_v2", 64}}) {
    SCOPED_TRACE(name);
    auto actual = in_double(seeded_model(name, "BN")), expected = in_double(seeded_model(name, "torch"));
    const auto x = images(4, side).to(torch::kFloat64);
    EXPECT_LT(difference(train_on(*actual, x), train_on(*expected, x)), 1e-8);
    expect_equal_gradients(*actual, *expected, 1e-8);
    expect_equal_buffers(*actual, *expected, 1e-8);
  }
}

TEST(ExactNorm, GivesLibtorchsOutputsAndStatisticsInFloat32) {
  // Not the gradients: where rounding decides on which side of a ReLU a point falls, either norm's are a few percent
  // off those of float64.
  const auto x = images(8, 32);
  auto actual = seeded_model("resnet20", "BN"), expected = seeded_model("resnet20", "torch");
  EXPECT_LT(difference(train_on(*actual, x), train_on(*expected, x)), 1e-5);
  expect_equal_buffers(*actual, *expected, 1e-5);
}

TEST(ExactNorm, GivesLibtorchsGradientsInFloat32WithoutRelu) {
  const auto without_relu = [](const std::string& norm) {
    ModelOptions options;
    options.make_norm = [norm](int64_t channels, bool) { return norm_by_name(norm, channels, /*relu=*/false); };
    return seeded_model("resnet20", options);
  };
  const auto x = images(8, 32);
  auto actual = without_relu("BN"), expected = without_relu("torch");
  train_on(*actual, x);
  train_on(*expected, x);
  // A bias before another norm has a gradient of almost nothing, the rest of a cancellation: most others agree to 1e-5.
  expect_equal_gradients(*actual, *expected, 5e-3);
}

TEST(ExactNorm, EvaluatesAsLibtorchsDoes) {
  const auto x = images(4, 32);
  auto actual = seeded_model("resnet20", "BN"), expected = seeded_model("resnet20", "torch");
  actual->eval();
  expected->eval();
  EXPECT_LT(difference(actual->forward(x), expected->forward(x)), 1e-6);
}

TEST(TorchNorm, LearnsRunningStatisticsInTrainingOnly) {
  auto norm = norm_by_name(kTorchBatchNorm, 4);
  const auto mean = norm->named_buffers()["running_mean"];
  norm->eval();
  norm->forward(torch::ones({2, 4, 3, 3}));
  EXPECT_EQ(mean.sum().item<double>(), 0);
  norm->train();
  norm->forward(torch::ones({2, 4, 3, 3}));
  EXPECT_NEAR(mean.sum().item<double>(), 0.4, 1e-6);
  norm->reset();
  EXPECT_EQ(mean.sum().item<double>(), 0);
}

/// A sampled norm that is not known as such, so that its inputs are concatenated for it.
struct Concatenating : Norm {
  explicit Concatenating(std::shared_ptr<Norm> norm) : Norm(norm->options), inner(std::move(norm)) {
    for (const auto& parameter : inner->named_parameters()) register_parameter(parameter.key(), parameter.value());
  }
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual) override {
    return inner->forward(x, residual);
  }
  std::shared_ptr<Norm> inner;
};

TEST(DenseNet, WithoutConcatenationEqualsTheOneWithIt) {
  for (const char* norm : {"BN", "LS-1/16;least=1"}) {
    SCOPED_TRACE(norm);
    // Layers draw by their numbers; set_seed() does not see into Concatenating, so each gets the same number here.
    const auto options = [&](bool concatenating) {
      ModelOptions made;
      made.make_norm = [=, number = uint64_t{0}](int64_t channels, bool activated) mutable -> std::shared_ptr<Norm> {
        auto inner = std::make_shared<SampledBatchNormImpl>(NormOptions(channels).spec(norm).relu(activated));
        inner->key.layer = number++;
        if (concatenating) return std::make_shared<Concatenating>(inner);
        return inner;
      };
      return made;
    };
    torch::manual_seed(1);
    auto plain = in_double(make_model("densenet121", options(true)));
    torch::manual_seed(1);
    auto actual = in_double(make_model("densenet121", options(false)));
    const auto x = images(4, 32).to(torch::kFloat64);
    EXPECT_LT(difference(train_on(*actual, x), train_on(*plain, x)), 1e-8);
    expect_equal_gradients(*actual, *plain, 1e-8);
  }
}

TEST(PaddedShortcut, IsEverySecondPointAndThenZeros) {
  // With zero weights in the last convolution's norm, a block gives ReLU of its shortcut.
  auto network = seeded_model("resnet20", "BN");
  const torch::NoGradGuard no_gradients;
  for (auto& parameter : network->named_parameters())
    if (parameter.key().ends_with("bn2.weight")) parameter.value().zero_();
  const auto x = images(2, 32);
  const auto stem = std::dynamic_pointer_cast<Norm>(network->named_modules()["bn1"])
                        ->forward(network->named_modules()["conv1"]->as<torch::nn::Conv2d>()->forward(x));
  const auto means = stem.slice(2, 0, 32, 4).slice(3, 0, 32, 4).mean({2, 3});
  const auto features = torch::constant_pad_nd(means, {0, 48});
  const auto expected = network->named_modules()["fc"]->as<torch::nn::Linear>()->forward(features);
  EXPECT_LT(difference(network->forward(x), expected), 1e-5);
}

}  // namespace
}  // namespace samplenorm::models
