// MobileNetV2: its activations and additions are in its norms. outputs_test.py compares its outputs with torchvision's.

#include "models/norm_by_name.h"
#include "models/testing.h"
#include "samplenorm/virtual_batch.h"

namespace samplenorm::models {
namespace {

using testing::difference;
using testing::images;
using testing::seeded_model;
using testing::train_on;

constexpr const char* kName = "mobilenet_v2";

/// Larger weights and biases in the norms, so that ReLU6 cuts off both ends.
void spread_activations(Network& network) {
  const torch::NoGradGuard no_gradients;
  torch::manual_seed(3);
  for (auto& parameter : network.named_parameters()) {
    if (parameter.value().dim() != 1 || parameter.key().starts_with("classifier")) continue;
    torch::nn::init::uniform_(parameter.value(), 1, 5);
  }
}

TEST(MobileNetV2, HasReLU6InEveryNormButTheProjections) {
  for (const char* norm : {"torch", "LS-1/64", "GN-8", "none"}) {
    int64_t activated = 0, plain = 0;
    for (const auto& module : make_model(kName, {.norm = norm})->modules())
      if (const auto* found = dynamic_cast<const Norm*>(module.get())) {
        activated += found->options.activation() == "relu6";
        plain += found->options.activation() == "identity";
      }
    EXPECT_EQ(activated, 1 + 16 + 17 + 1) << norm;  // the first, expansions, depthwise ones, the last
    EXPECT_EQ(plain, 17) << norm;
  }
}

TEST(MobileNetV2, GivesTenProjectionsTheBlocksInputToAdd) {
  struct Watching : Norm {
    Watching(const NormOptions& norm_options, int64_t& count_of_residuals)
        : Norm(norm_options), residuals(count_of_residuals) {}
    torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual) override {
      if (!residual.defined()) return x;
      EXPECT_EQ(options.activation(), "identity");
      EXPECT_EQ(x.sizes(), residual.sizes());
      ++residuals;
      return x + residual;
    }
    int64_t& residuals;
  };
  int64_t residuals = 0;
  ModelOptions options;
  options.make_norm = [&](int64_t channels, bool activated) {
    return std::make_shared<Watching>(NormOptions(channels).relu(activated), residuals);
  };
  make_model(kName, options)->forward(images(2, 32));
  EXPECT_EQ(residuals, 10);
}

TEST(MobileNetV2, HasReLU6AlsoWithNormsThatKnowReLUOnly) {
  ModelOptions options;
  options.make_norm = [](int64_t channels, bool activated) { return norm_by_name("BN", channels, activated); };
  auto actual = seeded_model(kName, options), expected = seeded_model(kName, "BN");
  const auto x = images(4, 64).to(torch::kFloat64);
  for (auto* network : {actual.get(), expected.get()}) {
    spread_activations(*network);
    network->to(torch::kFloat64);
  }
  EXPECT_LT(difference(train_on(*actual, x), train_on(*expected, x)), 1e-8);
  const auto expected_parameters = expected->named_parameters();
  for (const auto& parameter : actual->named_parameters())
    EXPECT_LT(difference(parameter.value().grad(), expected_parameters[parameter.key()].grad()), 1e-6)
        << parameter.key();
}

TEST(MobileNetV2, LetsVirtualRowsThroughAndLearnsFromThem) {
  const auto x = images(6, 32);
  auto network = seeded_model(kName, "VDN-2/128");
  auto virtual_batch = VirtualBatch(VirtualBatchOptions(torch::zeros({3}), torch::ones({3}), 2));
  std::vector<int64_t> rows;
  const auto logits = virtual_batch->forward(x, [&](const torch::Tensor& input) {
    const auto output = network->forward(input);
    rows = {input.size(0), output.size(0)};
    return output;
  });
  EXPECT_EQ(rows, (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(logits.sizes(), torch::IntArrayRef({6, 10}));
  torch::cross_entropy_loss(logits, torch::arange(6)).backward();
  for (const auto& parameter : network->named_parameters())
    EXPECT_TRUE(parameter.value().grad().isfinite().all().item<bool>()) << parameter.key();
}

TEST(MobileNetV2, LearnsABatch) {
  auto network = seeded_model(kName, "LS-1/64");
  const auto x = images(8, 64);
  const auto labels = torch::arange(8);
  torch::optim::SGD optimizer(network->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  std::vector<double> losses;
  for (int i = 0; i < 12; ++i) {
    optimizer.zero_grad();
    const auto loss = torch::cross_entropy_loss(network->forward(x), labels);
    losses.push_back(loss.item<double>());
    loss.backward();
    optimizer.step();
  }
  EXPECT_LT(losses.back(), 0.5 * losses.front());
}

}  // namespace
}  // namespace samplenorm::models
