// The implementation in ATen calls, which serves other devices, gives the numbers of the kernels.

#include "nn/implementation.h"
#include "nn/testing.h"

namespace samplenorm {
namespace {

using testing::as;
using testing::close;
using testing::Format;

class AtenEqualsKernels : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Methods, AtenEqualsKernels, ::testing::ValuesIn(testing::kEverySpec), [](const auto& one) {
  std::string name = one.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

void expect_same(const std::string& spec, torch::IntArrayRef sizes, torch::ScalarType type, Format format, bool relu,
                 bool with_residual) {
  torch::manual_seed(3);
  const torch::Tensor key = key_tensor({5, 6, 7, 8});
  const auto draw = [&](torch::IntArrayRef shape) { return torch::randn(shape, torch::kDouble); };
  const torch::Tensor x = as(format, (3 * draw(sizes) + 1).to(type)), dy = as(format, draw(sizes).to(type));
  const OptionalTensor residual = with_residual ? OptionalTensor(as(format, draw(sizes).to(type))) : std::nullopt;
  const OptionalTensor weight = draw({sizes[1]}).to(statistics_type(x)), bias = draw({sizes[1]}).to(statistics_type(x));

  const auto [y, mean, rstd, var, group_mean, sampled, mask] =
      cpu::forward(x, weight, bias, residual, spec, key, 1e-5, relu, false, "", 0, 1);
  const auto [y2, mean2, rstd2, var2, group_mean2, sampled2, mask2] =
      aten::forward(x, weight, bias, residual, spec, key, 1e-5, relu, false, "", 0, 1);
  const double allowed = testing::tolerance(type);
  const double exact = testing::tolerance(statistics_type(x));
  EXPECT_TRUE(close(y2, y, allowed, allowed));
  EXPECT_EQ(y2.strides(), y.strides());
  EXPECT_TRUE(close(mean2, mean, exact, exact));
  EXPECT_TRUE(close(rstd2, rstd, exact, exact));
  EXPECT_TRUE(close(var2, var, exact, exact));
  EXPECT_TRUE(close(group_mean2, group_mean, exact, exact));
  EXPECT_TRUE(torch::equal(sampled2, sampled));
  EXPECT_TRUE(torch::equal(mask2, mask));

  const OptionalTensor bits = mask.dim() == 2 ? OptionalTensor(mask) : std::nullopt;
  const auto [dx, dw, db, dr] =
      cpu::backward(dy, x, weight, bias, mean, rstd, group_mean, sampled, bits, spec, key, relu, false, "", 0, 1);
  const auto [dx2, dw2, db2, dr2] =
      aten::backward(dy, x, weight, bias, mean, rstd, group_mean, sampled, bits, spec, key, relu, false, "", 0, 1);
  EXPECT_TRUE(close(dx2[0], dx[0], 2 * allowed, 2 * allowed));
  EXPECT_EQ(dx2[0].strides(), dx[0].strides());
  EXPECT_TRUE(close(dw2, dw, exact, 20 * exact));
  EXPECT_TRUE(close(db2, db, exact, 20 * exact));
  EXPECT_TRUE(close(dr2, dr, 0, 0));
}

TEST_P(AtenEqualsKernels, InForwardAndBackwardForEveryTypeFormatAndFusion) {
  const std::vector<std::vector<int64_t>> shapes = {{8, 5}, {8, 3, 7}, {8, 3, 5, 3}, {8, 2, 2, 3, 5}};
  for (const auto& sizes : shapes)
    for (const auto type : {torch::kDouble, torch::kFloat, torch::kBFloat16, torch::kHalf})
      for (const Format format : {Format::kContiguous, Format::kChannelsLast, Format::kView})
        for (const bool relu : {false, true})
          for (const bool residual : {false, true}) {
            SCOPED_TRACE(::testing::Message()
                         << torch::IntArrayRef(sizes) << " " << torch::toString(type) << " format "
                         << static_cast<int>(format) << " relu " << relu << " residual " << residual);
            expect_same(GetParam(), sizes, type, format, relu, residual);
          }
}

TEST(AtenImplementation, ServesEveryDeviceButTheCpu) {
  for (const char* name : {"samplenorm::sampled_batch_norm", "samplenorm::sampled_batch_norm_backward"}) {
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
    for (const auto key : {c10::DispatchKey::CUDA, c10::DispatchKey::MPS, c10::DispatchKey::XPU})
      EXPECT_TRUE(op.hasComputedKernelForDispatchKey(key)) << name;
  }
}

}  // namespace
}  // namespace samplenorm
