// Inputs that break careless normalizations. Where torch has a behaviour, ours is the same; what is ours alone is
// written down in docs/numerics.md.

#include <limits>

#include "nn/testing.h"
#include "samplenorm/samplenorm.h"

namespace samplenorm {
namespace {

using testing::close;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

torch::Tensor train(const std::string& spec, const torch::Tensor& x, bool relu = false) {
  return SampledBatchNorm(NormOptions(x.size(1)).spec(spec).relu(relu))->forward(x);
}

class EverySpec : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Methods, EverySpec,
                         ::testing::Values("BN", "NS-2/8", "BS-2/8", "FS-1/4", "LS-1/4;least=1", "FRS-1/3"),
                         [](const auto& one) {
                           return std::string(one.param).substr(0, std::string(one.param).find('-'));
                         });

TEST_P(EverySpec, ConstantInputGivesTheBiasAndFiniteGradients) {
  torch::Tensor x = torch::full({8, 3, 4, 4}, 2.5F).requires_grad_();
  torch::Tensor y = train(GetParam(), x);
  y.backward(torch::randn_like(y));
  EXPECT_TRUE(y.eq(0).all().item<bool>());
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
}

TEST_P(EverySpec, LargeMeanKeepsTheVariance) {
  torch::manual_seed(4);
  const torch::Tensor x = torch::randn({64, 3, 16, 16}) + 1e4;
  SampledBatchNorm2d layer(NormOptions(3).spec(std::string(GetParam()) + ";decay=1"));
  layer->forward(x);
  SampledBatchNorm2d exact(NormOptions(3).spec(std::string(GetParam()) + ";decay=1"));
  exact->to(torch::kDouble);
  exact->key = layer->key;
  exact->key.step = 0;
  exact->forward(x.to(torch::kDouble));
  EXPECT_TRUE(close(layer->running_var, exact->running_var, 1e-5, 0));
  EXPECT_TRUE(close(layer->running_var, torch::ones({3}), 0.15, 0));
}

TEST_P(EverySpec, HugeInputsStayFinite) {
  torch::manual_seed(5);
  torch::Tensor x = (torch::randn({8, 3, 4, 4}) * 1e30).requires_grad_();
  torch::Tensor y = train(GetParam(), x);
  y.backward(torch::ones_like(y));
  EXPECT_TRUE(y.isfinite().all().item<bool>());
  EXPECT_GT(y.abs().mean().item<float>(), 0.1);
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
}

TEST_P(EverySpec, ZeroWeightGivesTheBiasAndNoGradientToTheInput) {
  torch::manual_seed(6);
  SampledBatchNorm2d layer(NormOptions(3).spec(GetParam()));
  torch::nn::init::zeros_(layer->weight);
  torch::nn::init::constant_(layer->bias, 0.5);
  torch::Tensor x = torch::randn({8, 3, 4, 4}).requires_grad_();
  torch::Tensor y = layer->forward(x);
  y.backward(torch::randn_like(y));
  EXPECT_TRUE(y.eq(0.5).all().item<bool>());
  EXPECT_TRUE(x.grad().eq(0).all().item<bool>());
  EXPECT_GT(layer->weight.grad().abs().min().item<float>(), 0);
}

TEST(EdgeCases, NanOrInfinityInTheSampleSpoilsItsChannelOnlyAsInTorch) {
  for (const float bad : {kNan, kInfinity}) {
    torch::Tensor x = torch::randn({4, 3, 2, 2});
    x[0][1][0][0] = bad;
    const torch::Tensor ours = train("BN", x).detach();
    const torch::Tensor theirs = torch::nn::BatchNorm2d(3)->forward(x).detach();
    EXPECT_TRUE(close(ours.isnan(), theirs.isnan(), 0, 0)) << bad;
    EXPECT_TRUE(ours.select(1, 1).isnan().all().item<bool>());
    EXPECT_TRUE(ours.select(1, 0).isfinite().all().item<bool>());
  }
}

TEST(EdgeCases, NanOutsideTheSampleStaysWhereItIs) {
  torch::Tensor x = torch::randn({8, 3, 2, 2});
  x[7][1][0][0] = kNan;
  const torch::Tensor y = train("NS-2/8", x).detach();
  EXPECT_EQ(y.isnan().sum().item<int64_t>(), 1);
  EXPECT_TRUE(y[7][1][0][0].isnan().item<bool>());
}

TEST(EdgeCases, FusedReluLetsNanPassAsTorchsRelu) {
  torch::Tensor x = torch::randn({8, 3, 2, 2});
  x[7][1][0][0] = kNan;
  const torch::Tensor y = train("NS-2/8", x, /*relu=*/true).detach();
  EXPECT_TRUE(torch::equal(y.isnan(), torch::relu(train("NS-2/8", x)).isnan()));
}

TEST(EdgeCases, ASampleOfOneValueIsRefusedWithItsNameAndTheInputsSize) {
  try {
    train("BS-1/8;least=1", torch::randn({8, 3}));
    FAIL() << "accepted";
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    EXPECT_NE(message.find("Expected more than 1 value per channel when training"), std::string::npos) << message;
    EXPECT_NE(message.find("BS-1/8;least=1"), std::string::npos) << message;
    EXPECT_NE(message.find("[8, 3]"), std::string::npos) << message;
  }
}

TEST(EdgeCases, WhatBatchNormAcceptsIsAcceptedAndTheRestGetsTorchsComplaint) {
  const auto complaint = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "none";
  };
  const std::vector<std::vector<int64_t>> accepted = {
      {2, 3}, {2, 3, 1, 1}, {1, 3, 1, 2}, {1, 3, 2, 1}, {2, 3, 1, 1, 1}};
  for (const std::string spec : {"BN", "NS-1/128", "BS-1/128", "FS-1/64", "LS-1/64", "FRS-1/1000"}) {
    for (const auto& sizes : accepted) {
      torch::Tensor x = torch::randn(sizes).requires_grad_();
      torch::Tensor y = train(spec, x), expected = train("BN", x);
      EXPECT_TRUE(close(y, expected, 1e-5, 1e-5)) << spec << " " << x.sizes();
      y.backward(torch::randn_like(y));
      EXPECT_TRUE(x.grad().isfinite().all().item<bool>()) << spec << " " << x.sizes();
    }
    const torch::Tensor one = torch::randn({1, 3, 1, 1});
    const std::string expected = complaint([&] { torch::nn::BatchNorm2d(3)->forward(one); });
    EXPECT_NE(expected.find("Expected more than 1 value per channel when training"), std::string::npos);
    EXPECT_EQ(complaint([&] { train(spec, one); }).substr(0, expected.size()), expected) << spec;
  }
}

TEST(EdgeCases, OneVirtualRowOfOnePointIsEnough) {
  for (const std::string spec : {"VDN-1/4", "NS-1/4+VDN-1/4", "LS-1/64+VDN-1/4"}) {
    torch::Tensor x = torch::randn({4, 3}).requires_grad_();
    torch::Tensor y = train(spec, x);
    y.backward(torch::randn_like(y));
    EXPECT_TRUE(y.isfinite().all().item<bool>()) << spec;
    EXPECT_TRUE(x.grad().isfinite().all().item<bool>()) << spec;
  }
}

TEST(EdgeCases, OneRowIsEnoughWhereTheMapHasSeveralPoints) {
  const torch::Tensor y = train("FS-1/4", torch::randn({1, 3, 8, 8})).detach();
  EXPECT_TRUE(y.isfinite().all().item<bool>());
}

TEST(EdgeCases, AGroupOfOnePointInAMixCountsWithVarianceZero) {
  SampledBatchNorm1d layer(NormOptions(1).spec("NS-1/4+VDN-2/4;decay=1;least=1"));
  layer->forward(torch::tensor({{0.F}, {2.F}, {100.F}, {0.F}, {2.F}}));
  EXPECT_FLOAT_EQ(layer->running_mean.item<float>(), 0.5F * 100 + 0.5F * 1);
  EXPECT_FLOAT_EQ(layer->running_var.item<float>(), 0.5F * 0 + 0.5F * 2);
}

}  // namespace
}  // namespace samplenorm
