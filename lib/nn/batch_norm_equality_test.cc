// With the sample "everything" a layer is torch's BatchNorm: outputs, gradients, running statistics and complaints.

#include "nn/testing.h"
#include "samplenorm/samplenorm.h"

namespace samplenorm {
namespace {

using testing::as;
using testing::close;
using testing::Format;

struct Outcome {
  std::vector<torch::Tensor>
      values;  ///< y, dx, dweight, dbias, running mean, running var, batches; what there is of it
};

/// Two training steps and an evaluation, all gradients of the second step.
template <class Layer>
Outcome exercise(Layer layer, const torch::Tensor& first, const torch::Tensor& second, const torch::Tensor& dy) {
  torch::Tensor x = second.detach().clone(torch::MemoryFormat::Preserve);
  if (x.strides() != second.strides()) x = second.detach();
  x.requires_grad_();
  layer->forward(first);
  torch::Tensor y = layer->forward(x);
  y.backward(dy);
  Outcome outcome{{y.detach(), x.grad()}};
  for (const auto& parameter : layer->parameters()) outcome.values.push_back(parameter.grad());
  for (const auto& buffer : layer->named_buffers()) outcome.values.push_back(buffer.value().clone());
  layer->eval();
  outcome.values.push_back(layer->forward(first).detach());
  return outcome;
}

struct ShapeCase {
  const char* name;
  std::vector<int64_t> sizes;
};

template <class Ours, class Theirs>
void expect_equal(const ShapeCase& c, torch::ScalarType type, Format format, const NormOptions& options,
                  const torch::nn::BatchNormOptions& torch_options, bool half_parameters = false) {
  torch::manual_seed(1);
  const auto draw = [&] { return as(format, (2 * torch::randn(c.sizes, torch::kDouble) + 3).to(type)); };
  const torch::Tensor first = draw(), second = draw(), dy = draw();
  Ours ours(NormOptions(options).spec("BN"));
  Theirs theirs(torch_options);
  const auto parameter_type = type == torch::kDouble || half_parameters ? type : torch::kFloat;
  for (torch::nn::Module* layer :
       {static_cast<torch::nn::Module*>(ours.get()), static_cast<torch::nn::Module*>(theirs.get())}) {
    layer->to(parameter_type);
    torch::NoGradGuard no_grad;
    torch::manual_seed(2);
    for (auto& parameter : layer->parameters()) parameter.copy_(torch::randn(parameter.sizes()));
  }
  const Outcome actual = exercise(ours, first, second, dy), expected = exercise(theirs, first, second, dy);
  ASSERT_EQ(actual.values.size(), expected.values.size());
  // torch rounds the saved statistics to bfloat16 where parameters are; ours stay float32.
  const double allowed = (half_parameters ? 2 : 1) * testing::tolerance(type);
  for (size_t i = 0; i < actual.values.size(); ++i) {
    EXPECT_TRUE(close(actual.values[i], expected.values[i], allowed, 4 * allowed)) << c.name << ", value " << i;
    EXPECT_EQ(actual.values[i].scalar_type(), expected.values[i].scalar_type()) << c.name << ", value " << i;
  }
}

template <class Ours, class Theirs>
void expect_equal_in_all_formats(const ShapeCase& c, torch::ScalarType type) {
  for (const Format format : {Format::kContiguous, Format::kChannelsLast, Format::kView})
    expect_equal<Ours, Theirs>(c, type, format, NormOptions(c.sizes[1]), torch::nn::BatchNormOptions(c.sizes[1]));
}

class EveryType : public ::testing::TestWithParam<torch::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(Types, EveryType,
                         ::testing::Values(torch::kFloat, torch::kDouble, torch::kBFloat16, torch::kHalf),
                         [](const auto& one) { return std::string(torch::toString(one.param)); });

TEST_P(EveryType, RowsAndSequencesEqualTorchsBatchNorm1dInEveryMemoryFormat) {
  expect_equal_in_all_formats<SampledBatchNorm1d, torch::nn::BatchNorm1d>({"(N, C)", {9, 5}}, GetParam());
  expect_equal_in_all_formats<SampledBatchNorm1d, torch::nn::BatchNorm1d>({"(N, C, L)", {4, 3, 7}}, GetParam());
}

TEST_P(EveryType, ImagesEqualTorchsBatchNorm2dInEveryMemoryFormat) {
  expect_equal_in_all_formats<SampledBatchNorm2d, torch::nn::BatchNorm2d>({"odd", {5, 7, 3, 5}}, GetParam());
  expect_equal_in_all_formats<SampledBatchNorm2d, torch::nn::BatchNorm2d>({"one channel", {5, 1, 3, 5}}, GetParam());
  expect_equal_in_all_formats<SampledBatchNorm2d, torch::nn::BatchNorm2d>({"one row", {1, 7, 3, 5}}, GetParam());
  expect_equal_in_all_formats<SampledBatchNorm2d, torch::nn::BatchNorm2d>({"one point", {5, 7, 1, 1}}, GetParam());
}

TEST_P(EveryType, VolumesEqualTorchsBatchNorm3dInEveryMemoryFormat) {
  expect_equal_in_all_formats<SampledBatchNorm3d, torch::nn::BatchNorm3d>({"volume", {3, 4, 2, 3, 5}}, GetParam());
}

TEST(BatchNormEquality, HoldsWithBfloat16ParametersAndStatistics) {
  expect_equal<SampledBatchNorm2d, torch::nn::BatchNorm2d>({"bfloat16", {5, 7, 3, 5}}, torch::kBFloat16,
                                                           Format::kContiguous, NormOptions(7),
                                                           torch::nn::BatchNormOptions(7), true);
}

TEST(BatchNormEquality, HoldsForEveryOption) {
  const ShapeCase c{"options", {5, 6, 3, 4}};
  const auto check = [&](NormOptions ours, torch::nn::BatchNormOptions theirs) {
    expect_equal<SampledBatchNorm2d, torch::nn::BatchNorm2d>(c, torch::kFloat, Format::kChannelsLast, ours, theirs);
  };
  const NormOptions ours(6);
  const torch::nn::BatchNormOptions theirs(6);
  check(NormOptions(ours).momentum(0.3), torch::nn::BatchNormOptions(theirs).momentum(0.3));
  check(NormOptions(ours).momentum(std::nullopt), torch::nn::BatchNormOptions(theirs).momentum(std::nullopt));
  check(NormOptions(ours).eps(0.1), torch::nn::BatchNormOptions(theirs).eps(0.1));
  check(NormOptions(ours).affine(false), torch::nn::BatchNormOptions(theirs).affine(false));
  check(NormOptions(ours).track_running_stats(false), torch::nn::BatchNormOptions(theirs).track_running_stats(false));
}

TEST(BatchNormEquality, AnEmptyBatchGivesEmptyOutputZeroGradientsAndLeavesRunningStatisticsAloneButCounts) {
  SampledBatchNorm2d ours(NormOptions(3).spec("BN"));
  torch::nn::BatchNorm2d theirs(3);
  torch::Tensor x = torch::zeros({0, 3, 4, 4}).requires_grad_();
  for (int repeat = 0; repeat < 2; ++repeat) theirs->forward(x);
  ours->forward(x);
  torch::Tensor y = ours->forward(x);
  y.sum().backward();
  EXPECT_EQ(y.sizes(), x.sizes());
  EXPECT_EQ(x.grad().sizes(), x.sizes());
  EXPECT_TRUE(ours->weight.grad().eq(0).all().item<bool>());
  EXPECT_TRUE(ours->bias.grad().eq(0).all().item<bool>());
  EXPECT_TRUE(torch::equal(ours->running_mean, theirs->running_mean));
  EXPECT_TRUE(torch::equal(ours->running_var, theirs->running_var));
  EXPECT_TRUE(torch::equal(ours->num_batches_tracked, theirs->num_batches_tracked));
}

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "none";
}

TEST(BatchNormEquality, OneValuePerChannelGetsTorchsComplaint) {
  SampledBatchNorm1d ours(NormOptions(3).spec("BN"));
  torch::nn::BatchNorm1d theirs(3);
  const torch::Tensor x = torch::ones({1, 3});
  const std::string expected = complaint([&] { theirs->forward(x); });
  EXPECT_NE(expected.find("Expected more than 1 value per channel when training"), std::string::npos);
  EXPECT_EQ(complaint([&] { ours->forward(x); }), expected);
}

TEST(BatchNormEquality, WrongNumberOfDimensionsGetsTorchsComplaint) {
  const auto same = [](auto ours, auto theirs, const torch::Tensor& x) {
    EXPECT_EQ(complaint([&] { ours->forward(x); }), complaint([&] { theirs->forward(x); }));
    EXPECT_NE(complaint([&] { ours->forward(x); }), "none");
  };
  const torch::Tensor x = torch::ones({2, 3, 4, 4});
  same(SampledBatchNorm1d(3), torch::nn::BatchNorm1d(3), x);
  same(SampledBatchNorm2d(3), torch::nn::BatchNorm2d(3), x[0]);
  same(SampledBatchNorm3d(3), torch::nn::BatchNorm3d(3), x);
}

}  // namespace
}  // namespace samplenorm
