// The steps by the kernels and by ATen calls give the same numbers.

#include "nn/steps.h"

#include "nn/activation.h"
#include "nn/checks.h"
#include "nn/driver.h"
#include "nn/testing.h"

namespace samplenorm {
namespace {

using testing::as;
using testing::close;
using testing::Format;

class StepsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Methods, StepsTest, ::testing::ValuesIn(testing::kEverySpec), [](const auto& one) {
  std::string name = one.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

void expect_same(const std::string& spec, torch::IntArrayRef sizes, torch::ScalarType type, Format format,
                 const std::string& activation, bool with_residual) {
  torch::manual_seed(3);
  const torch::Tensor key = key_tensor({5, 6, 7, 8});
  const auto draw = [&](torch::IntArrayRef shape) { return torch::randn(shape, torch::kDouble); };
  const torch::Tensor x = as(format, (3 * draw(sizes) + 1).to(type)), dy = as(format, draw(sizes).to(type));
  const OptionalTensor residual = with_residual ? OptionalTensor(as(format, draw(sizes).to(type))) : std::nullopt;
  const OptionalTensor weight = draw({sizes[1]}).to(statistics_type(x)), bias = draw({sizes[1]}).to(statistics_type(x));

  // Running statistics after two batches, moved by a momentum or to the mean of both.
  struct Running {
    torch::Tensor mean, var, batches = torch::tensor(1);
  };
  const auto options = torch::dtype(statistics_type(x));
  const Running by_kernels{torch::zeros({sizes[1]}, options), torch::ones({sizes[1]}, options)};
  const Running by_aten{torch::zeros({sizes[1]}, options), torch::ones({sizes[1]}, options)};
  const std::optional<double> momentum = with_residual ? std::optional(0.3) : std::nullopt;
  const auto [y, statistics, sample, mask] =
      driver::forward<registered_steps>(x, weight, bias, residual, spec, key, 1e-5, activation, false, "", 0, 1, true,
                                        by_kernels.mean, by_kernels.var, by_kernels.batches, momentum, false);
  const auto [y2, statistics2, sample2, mask2] =
      driver::forward<aten_steps>(x, weight, bias, residual, spec, key, 1e-5, activation, false, "", 0, 1, true,
                                  by_aten.mean, by_aten.var, by_aten.batches, momentum, false);
  const double allowed = testing::tolerance(type);
  const double exact = testing::tolerance(statistics_type(x));
  EXPECT_TRUE(close(y2, y, allowed, allowed));
  EXPECT_EQ(y2.strides(), y.strides());
  EXPECT_TRUE(close(statistics2, statistics, exact, 2 * exact));
  EXPECT_TRUE(close(by_aten.mean, by_kernels.mean, exact, 2 * exact));
  EXPECT_TRUE(close(by_aten.var, by_kernels.var, exact, 2 * exact));
  EXPECT_EQ(by_aten.batches.item<int64_t>(), 2);
  EXPECT_EQ(by_kernels.batches.item<int64_t>(), 2);
  EXPECT_TRUE(torch::equal(sample2, sample));
  EXPECT_EQ(sample2.strides(), sample.strides());
  EXPECT_TRUE(torch::equal(mask2, mask));

  const auto [dx, dw, db, dr] = driver::backward<registered_steps>(dy, x, weight, bias, statistics, sample, mask, spec,
                                                                   key, activation, false, "", 0, 1, true);
  const auto [dx2, dw2, db2, dr2] = driver::backward<aten_steps>(dy, x, weight, bias, statistics, sample, mask, spec,
                                                                 key, activation, false, "", 0, 1, true);
  EXPECT_TRUE(close(dx2[0], dx[0], 2 * allowed, 2 * allowed));
  EXPECT_EQ(dx2[0].strides(), dx[0].strides());
  EXPECT_TRUE(close(dw2, dw, exact, 20 * exact));
  EXPECT_TRUE(close(db2, db, exact, 20 * exact));
  EXPECT_TRUE(close(dr2, dr, allowed, 0));
}

// A device may give what it has found of its blocks of points, also of blocks without points.
TEST(BlocksTest, AreMergedByTheStepThatFollows) {
  const torch::Tensor x = torch::randn({9, 4, 3, 3}, torch::kDouble) * 3 + 5, dy = torch::randn_like(x), none;
  const std::vector<int64_t> one = {0, 9}, three = {0, 4, 4, 9}, counts = {81}, part_counts = {36, 0, 45};
  const auto moments = [&](at::IntArrayRef rows, at::IntArrayRef points) {
    return std::get<0>(cpu_steps.moments(x, torch::empty({0}, torch::kLong), rows, points, 0));
  };
  const std::vector<double> weights = {1};
  const torch::Tensor whole = moments(one, counts), blocks = moments(three, part_counts).transpose(0, 1);
  ASSERT_EQ(blocks.size(0), 3);
  EXPECT_TRUE(close(one_block(blocks), whole, 1e-12, 0));
  for (const Steps* steps : {&cpu_steps, &aten_steps}) {
    const auto statistics = [&](const torch::Tensor& found) {
      return steps->statistics(found, weights, {}, {}, 1e-5, {}, {}, {}, {}, false);
    };
    const torch::Tensor lines = statistics(whole);
    EXPECT_TRUE(close(statistics(blocks), lines, 1e-12, 1e-12));

    const torch::Tensor of_parts = lines.expand({3, -1, -1});
    const torch::Tensor sums = std::get<1>(steps->backward(dy, x, {}, lines, {}, one, "relu", false, false));
    const torch::Tensor of_blocks =
        std::get<1>(steps->backward(dy, x, {}, of_parts, {}, three, "relu", false, false)).transpose(0, 1);
    ASSERT_EQ(of_blocks.size(0), 3);
    const auto [dw, db, correction] = steps->gradients(sums, sums, lines, weights);
    const auto [dw2, db2, correction2] = steps->gradients(of_blocks, of_blocks, lines, weights);
    EXPECT_TRUE(close(dw2, dw, 1e-12, 1e-12));
    EXPECT_TRUE(close(db2, db, 1e-12, 1e-12));
    EXPECT_TRUE(close(correction2, correction, 1e-12, 1e-12));
  }
}

const std::vector<std::vector<int64_t>> kShapes = {{8, 5}, {8, 3, 7}, {8, 3, 5, 3}, {8, 2, 2, 3, 5}};

TEST_P(StepsTest, ByKernelsAndByAtenCallsAreTheSameForEveryTypeFormatAndFusion) {
  for (const auto& sizes : kShapes)
    for (const auto type : {torch::kDouble, torch::kFloat, torch::kBFloat16, torch::kHalf})
      for (const Format format : {Format::kContiguous, Format::kChannelsLast, Format::kView})
        for (const char* activation : {"identity", "relu", "leaky_relu(0.3)", "silu"})
          for (const bool residual : {false, true}) {
            if (residual && !activation_of(activation).piecewise_linear) continue;
            SCOPED_TRACE(::testing::Message()
                         << torch::IntArrayRef(sizes) << " " << torch::toString(type) << " format "
                         << static_cast<int>(format) << " " << activation << " residual " << residual);
            expect_same(GetParam(), sizes, type, format, activation, residual);
          }
}

TEST(Steps, OfEveryActivationAreTheSameByKernelsAndByAtenCalls) {
  for (const std::string& activation : activations())
    for (const bool residual : {false, true})
      for (const Format format : {Format::kContiguous, Format::kChannelsLast}) {
        if (residual && !activation_of(activation).piecewise_linear) continue;
        SCOPED_TRACE(activation);
        expect_same("LS-1/4;least=1", {8, 17, 9, 5}, torch::kFloat, format, activation, residual);
      }
}

}  // namespace
}  // namespace samplenorm
