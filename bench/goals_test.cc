#include "bench/goals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace samplenorm::bench {
namespace {

const std::vector<int64_t> kLargeShape = {32, 64, 56, 56};         // 25.7 MB, a big map
const std::vector<int64_t> kOtherLargeShape = {32, 1024, 14, 14};  // as large, a small map
const std::vector<int64_t> kSmallShape = {128, 64, 8, 8};          // 2.1 MB, a small map
const std::vector<int64_t> kSmallShapeBigMap = {128, 16, 32, 32};  // 8.4 MB, a big map

/// The same time in every round, forward and backward half of it each.
Measurement timed(std::vector<int64_t> sizes, std::string format, Fusion fusion, std::string norm, std::string path,
                  double seconds) {
  const std::vector<double> halves(3, seconds / 2), wholes(3, seconds);
  return {.sizes = std::move(sizes),
          .format = std::move(format),
          .fusion = fusion,
          .norm = std::move(norm),
          .path = std::move(path),
          .seconds = {halves, halves, wholes}};
}

std::map<std::string, std::optional<double>> values_of(const std::vector<Goal>& list) {
  std::map<std::string, std::optional<double>> values;
  for (const auto& goal : list) values[goal.id + goal.format] = goal.value;
  return values;
}

TEST(Goals, OfNothingMeasuredAreAllThereWithoutAValue) {
  const auto list = goals({});
  EXPECT_EQ(list.size(), 13u);
  for (const auto& goal : list) {
    EXPECT_FALSE(goal.value.has_value()) << goal.id;
    EXPECT_EQ(verdict(goal), "not measured");
    EXPECT_GT(goal.aim, goal.must);
    EXPECT_GT(goal.must, 0);
  }
  EXPECT_EQ(goals_by_format({}).size(), 16u);
}

TEST(Goals, TakeTheWorseOfTheTwoSampledNormsAndTheGeometricMeanOverShapes) {
  Measurements all;
  for (const auto& shape : {kLargeShape, kOtherLargeShape}) {
    all.push_back(timed(shape, "", Fusion::kRelu, kLimit, "", 1));
  }
  const auto add = [&](const auto& shape, const char* norm, double seconds) {
    all.push_back(timed(shape, kChannelsLast, Fusion::kRelu, norm, kAutograd, seconds));
  };
  add(kLargeShape, "FS-1/64", 1);
  add(kLargeShape, "LS-1/64", 4);        // the worse: 1/4
  add(kOtherLargeShape, "FS-1/64", 16);  // the worse: 1/16
  add(kOtherLargeShape, "LS-1/64", 2);
  const auto values = values_of(goals(all));
  EXPECT_DOUBLE_EQ(values.at("nhwc_large_forward").value(), 1. / 8);
  EXPECT_DOUBLE_EQ(values.at("nhwc_large_backward").value(), 1. / 8);
  EXPECT_FALSE(values.at("nhwc_small_raw").has_value());
  EXPECT_FALSE(values.at("nchw_big_maps").has_value());
  EXPECT_FALSE(values.at("torch_large_bn_relu").has_value());
}

TEST(Goals, NeedBothSampledNorms) {
  const auto values = values_of(goals({timed(kLargeShape, "", Fusion::kRelu, kLimit, "", 1),
                                       timed(kLargeShape, kChannelsLast, Fusion::kRelu, "FS-1/64", kAutograd, 1)}));
  EXPECT_FALSE(values.at("nhwc_large_forward").has_value());
}

/// All contenders in one case. The sampled norms take `raw` below autograd and twice as long through it.
void add_case(Measurements& all, const std::vector<int64_t>& shape, const char* format, Fusion fusion, double raw) {
  for (const char* norm : kSampledNorms) {
    all.push_back(timed(shape, format, fusion, norm, kRaw, raw));
    all.push_back(timed(shape, format, fusion, norm, kAutograd, 2 * raw));
  }
  all.push_back(timed(shape, format, fusion, kTorch, kAutograd, 12));
  all.push_back(timed(shape, format, fusion, kExactNorm, kAutograd, 6));
}

/// The goals of BN+ReLU on one shape, where the limit takes 1, and we 4 below autograd and 8 through it.
std::map<std::string, std::optional<double>> values_for(const std::vector<int64_t>& shape, const char* format) {
  Measurements all{timed(shape, "", Fusion::kRelu, kLimit, "", 1)};
  add_case(all, shape, format, Fusion::kRelu, 4);
  return values_of(goals(all));
}

TEST(Goals, SmallTensorsAreHeldAgainstTheLimitBelowAutogradAndLargeOnesThroughIt) {
  EXPECT_DOUBLE_EQ(values_for(kLargeShape, kChannelsLast).at("nhwc_large_forward").value(), 1. / 8);
  EXPECT_DOUBLE_EQ(values_for(kLargeShape, kChannelsLast).at("nhwc_large_backward").value(), 1. / 8);
  EXPECT_DOUBLE_EQ(values_for(kSmallShape, kChannelsLast).at("nhwc_small_raw").value(), 1. / 4);
  EXPECT_DOUBLE_EQ(values_for(kLargeShape, kContiguous).at("nchw_big_maps").value(), 1. / 8);
  EXPECT_DOUBLE_EQ(values_for(kSmallShapeBigMap, kContiguous).at("nchw_big_maps").value(), 1. / 4);
  EXPECT_DOUBLE_EQ(values_for(kOtherLargeShape, kContiguous).at("nchw_small_maps").value(), 1. / 8);
  EXPECT_DOUBLE_EQ(values_for(kSmallShape, kContiguous).at("nchw_small_maps").value(), 1. / 4);
}

TEST(Goals, TakeOnlyTheirClass) {
  EXPECT_FALSE(values_for(kLargeShape, kContiguous).at("nhwc_large_forward").has_value());
  EXPECT_FALSE(values_for(kSmallShape, kChannelsLast).at("nhwc_large_forward").has_value());
  EXPECT_FALSE(values_for(kLargeShape, kChannelsLast).at("nhwc_small_raw").has_value());
  EXPECT_FALSE(values_for(kOtherLargeShape, kContiguous).at("nchw_big_maps").has_value());
  EXPECT_FALSE(values_for(kLargeShape, kContiguous).at("nchw_small_maps").has_value());
  EXPECT_FALSE(values_for(kSmallShape, kChannelsLast).at("nchw_small_maps").has_value());
}

TEST(Goals, RatiosToTorchGoThroughAutogradOverBothFormatsAndByEach) {
  Measurements all;
  add_case(all, kLargeShape, kChannelsLast, Fusion::kAddRelu, 1);  // 12 / 2
  add_case(all, kLargeShape, kContiguous, Fusion::kAddRelu, 4);    // 12 / 8
  add_case(all, kSmallShape, kContiguous, Fusion::kNone, 3);       // 12 / 6
  auto values = values_of(goals(all));
  EXPECT_DOUBLE_EQ(values.at("torch_large_bn_add_relu").value(), 3);
  EXPECT_DOUBLE_EQ(values.at("torch_small_bn").value(), 2);
  EXPECT_FALSE(values.at("torch_small_bn_add_relu").has_value());
  EXPECT_FALSE(values.at("torch_large_bn").has_value());
  EXPECT_FALSE(values.at("torch_large_bn_relu").has_value());
  EXPECT_DOUBLE_EQ(values.at("exact_bn").value(), std::cbrt(6. / 2 * 6 / 8 * 6 / 6));

  values = values_of(goals_by_format(all));
  EXPECT_DOUBLE_EQ(values.at("torch_large_bn_add_reluchannels_last").value(), 6);
  EXPECT_DOUBLE_EQ(values.at("torch_large_bn_add_relucontiguous").value(), 1.5);
  EXPECT_FALSE(values.at("torch_small_bnchannels_last").has_value());
}

TEST(Goals, OneDnnIsHeldAgainstUsInTheFastestOfItsFormatsBelowAutograd) {
  Measurements all;
  add_case(all, kSmallShape, kChannelsLast, Fusion::kRelu, 1);
  add_case(all, kSmallShape, kContiguous, Fusion::kRelu, 4);
  all.push_back(timed(kSmallShape, "", Fusion::kRelu, kOneDnn, "nhwc", 9));
  all.push_back(timed(kSmallShape, "", Fusion::kRelu, kOneDnn, "nChw8c", 4));
  all.push_back(timed(kSmallShape, "", Fusion::kNone, kOneDnn, "nchw", 1));  // another fusion does not count
  EXPECT_DOUBLE_EQ(values_of(goals(all)).at("onednn_best").value(), 2);      // of 4 / 1 and 4 / 4
}

TEST(Goals, AreReachedFromTheirValueOn) {
  EXPECT_EQ(verdict({.id = "", .what = "", .format = "", .value = 1.9, .must = 2, .aim = 3}), "missed");
  EXPECT_EQ(verdict({.id = "", .what = "", .format = "", .value = 2, .must = 2, .aim = 3}), "reached");
  EXPECT_EQ(verdict({.id = "", .what = "", .format = "", .value = 3, .must = 2, .aim = 3}), "aim reached");
}

TEST(Classes, ATensorIsLargeAboveSixteenMebibytes) {
  EXPECT_FALSE(is_large({16, 256, 32, 32}));  // 16 MiB to the byte
  EXPECT_TRUE(is_large({17, 256, 32, 32}));
  EXPECT_TRUE(has_big_map({1, 1, 28, 28}));
  EXPECT_FALSE(has_big_map({1, 1, 28, 27}));
}

TEST(LimitOf, TakesForwardAndBackwardEachFromTheFasterStores) {
  auto ordinary = timed(kSmallShape, "", Fusion::kRelu, kLimit, "ordinary stores", 0);
  auto streaming = timed(kSmallShape, "", Fusion::kRelu, kLimit, "streaming stores", 0);
  ordinary.seconds = {{1, 1, 9}, {5, 5, 5}, {6, 6, 14}};
  streaming.seconds = {{2, 2, 2}, {3, 4, 3}, {5, 6, 5}};
  const auto limit = limit_of({ordinary, streaming});
  EXPECT_EQ(limit.seconds.forward, (std::vector<double>{1, 1, 9}));  // by its median
  EXPECT_EQ(limit.seconds.backward, (std::vector<double>{3, 4, 3}));
  EXPECT_EQ(limit.seconds.both, (std::vector<double>{4, 5, 12}));
  EXPECT_EQ(limit.norm, kLimit);
  EXPECT_EQ(limit.path, "");
}

}  // namespace
}  // namespace samplenorm::bench
