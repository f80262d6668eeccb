// The norms to compare with: their published formulas, their gradients, and the factory.

#include <cmath>

#include "nn/testing.h"
#include "samplenorm/samplenorm.h"

namespace samplenorm {
namespace {

using testing::close;

const std::vector<std::string> kNames = {"L1BN", "RBN", "GN-2", "LN", "VBN-3", "none"};

std::shared_ptr<Norm> double_norm(const std::string& name, int64_t channels, bool relu = false) {
  auto norm = make_norm(name, channels, relu);
  norm->to(torch::kDouble);
  return norm;
}

TEST(L1Bn, DividesByTheMeanAbsoluteDeviation) {
  const torch::Tensor x = torch::randn({6, 4, 3, 3}, torch::kDouble);
  const torch::Tensor centred = x - x.mean({0, 2, 3}, true);
  const torch::Tensor expected = centred / (centred.abs().mean({0, 2, 3}, true) + 1e-5);
  EXPECT_TRUE(close(double_norm("L1BN", 4)->forward(x), expected, 1e-12, 1e-12));
}

TEST(RangeBn, DividesByTheScaledRange) {
  const torch::Tensor x = torch::randn({6, 4, 3, 3}, torch::kDouble);
  const torch::Tensor centred = x - x.mean({0, 2, 3}, true);
  const torch::Tensor range = centred.amax({0, 2, 3}, true) - centred.amin({0, 2, 3}, true);
  const torch::Tensor expected = centred / (range / std::sqrt(2 * std::log(6.0 * 9)) + 1e-5);
  EXPECT_TRUE(close(double_norm("RBN", 4)->forward(x), expected, 1e-12, 1e-12));
}

TEST(GroupAndLayerNorm, EqualTorchs) {
  const torch::Tensor x = torch::randn({6, 4, 3, 3});
  EXPECT_TRUE(close(make_norm("GN-2", 4)->forward(x), torch::group_norm(x, 2), 1e-6, 1e-6));
  EXPECT_TRUE(close(make_norm("LN", 4)->forward(x), torch::layer_norm(x, {4, 3, 3}), 1e-5, 1e-5));
  const torch::Tensor rows = torch::randn({6, 4});
  EXPECT_TRUE(close(make_norm("LN", 4)->forward(rows), torch::layer_norm(rows, {4}), 1e-5, 1e-5));
}

TEST(VirtualBatchNorm, TakesTheReferenceRowsAndTheRowItself) {
  const torch::Tensor x = torch::randn({5, 2, 3, 3}, torch::kDouble) + 3;
  const torch::Tensor y = double_norm("VBN-3", 2)->forward(x);
  const auto normalized = [](const torch::Tensor& by, const torch::Tensor& what) {
    return (what - by.mean({0, 2, 3}, true)) * torch::rsqrt(by.var({0, 2, 3}, false, true) + 1e-5);
  };
  const torch::Tensor reference = x.narrow(0, 0, 3);
  EXPECT_TRUE(close(y.narrow(0, 0, 3), normalized(reference, reference), 1e-10, 1e-10));
  for (int64_t row = 3; row < 5; ++row) {
    const torch::Tensor own = x.narrow(0, row, 1);
    EXPECT_TRUE(close(y.narrow(0, row, 1), normalized(torch::cat({reference, own}), own), 1e-10, 1e-10));
  }
}

TEST(NoNorm, GivesItsInput) {
  const torch::Tensor x = torch::randn({6, 4, 3, 3});
  EXPECT_TRUE(torch::equal(make_norm("none", 4)->forward(x), x));
  EXPECT_TRUE(make_norm("none", 4)->parameters().empty());
}

TEST(ComparisonNorms, GradientsPassACentralDifferenceCheck) {
  torch::manual_seed(1);
  for (const std::string& name : kNames) {
    const auto norm = double_norm(name, 2);
    const torch::Tensor x = 2 * torch::randn({5, 2, 2, 2}, torch::kDouble) + 1;
    const auto function = [&](const torch::Tensor& input) { return norm->forward(input); };
    EXPECT_LT(testing::gradient_error(x, function), 1e-6) << name;
  }
}

TEST(ComparisonNorms, AddTheResidualAndApplyReluWhereAskedFor) {
  for (const std::string& name : kNames) {
    const torch::Tensor x = torch::randn({6, 4, 3, 3}), residual = torch::randn_like(x);
    const torch::Tensor expected = (make_norm(name, 4)->forward(x) + residual).relu();
    EXPECT_TRUE(close(make_norm(name, 4, true)->forward(x, residual), expected, 1e-6, 1e-6)) << name;
  }
}

TEST(ComparisonNorms, EvaluateWithTheirRunningStatistics) {
  for (const std::string name : {"L1BN", "RBN"}) {
    const auto norm = make_norm(NormOptions(4).spec(name).momentum(1));
    const torch::Tensor x = torch::randn({6, 4, 3, 3});
    const torch::Tensor trained = norm->forward(x);
    norm->eval();
    EXPECT_TRUE(close(norm->forward(x), trained, 1e-5, 1e-5)) << name;
  }
}

TEST(MakeNorm, GivesEverySamplingMethodAndEveryComparisonNorm) {
  for (const std::string& name : testing::kEverySpec)
    EXPECT_TRUE(std::dynamic_pointer_cast<SampledBatchNormImpl>(make_norm(name, 4)));
  for (const std::string& name : kNames)
    EXPECT_FALSE(std::dynamic_pointer_cast<SampledBatchNormImpl>(make_norm(name, 4)));
  EXPECT_EQ(comparison_norms().size(), kNames.size());
}

TEST(MakeNorm, PointsAtWhatIsWrongInAName) {
  const auto position = [](const std::string& notation) {
    try {
      make_norm(notation, 4);
    } catch (const NotationError& error) {
      return static_cast<int>(error.position());
    }
    return -1;
  };
  EXPECT_EQ(position("GN"), 2);
  EXPECT_EQ(position("GN-"), 3);
  EXPECT_EQ(position("GN-0"), 3);
  EXPECT_EQ(position("GN-2x"), 3);
  EXPECT_EQ(position("LN-2"), 2);
  EXPECT_EQ(position("none;beta=1"), 4);
  EXPECT_EQ(position("XN"), 0);
  EXPECT_EQ(position("FS-1/x"), 5);
  EXPECT_THROW(make_norm("GN-3", 4), Error);
}

}  // namespace
}  // namespace samplenorm
