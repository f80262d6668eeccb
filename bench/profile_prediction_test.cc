#include "bench/profile_prediction.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/profile_record.h"

namespace samplenorm::bench {
namespace {

Seconds phases(double forward, double backward) {
  return {.forward = {forward}, .backward = {backward}, .both = {forward + backward}};
}

/// Measured with 2 threads. Two layers of one kind: 1 s and 2 s each with the first norm, 100 and 400 bytes; the second
/// norm takes half of both; what the third moves is not known.
Profile profile_of_two_threads() {
  LayerProfile layer{.layer = {.names = {"a", "b"}, .sizes = {}, .parts = {}},
                     .sampled = {1, 0.1, 1},
                     .bytes = {LayerBytes{100, 400}, LayerBytes{50, 200}, std::nullopt},
                     .seconds = {phases(1, 2), phases(0.5, 1), phases(1, 1)}};
  return {.norms = {"torch", "LS-1/64", "GN-8"},
          .layers = {layer},
          .steps = {phases(10, 20), phases(9, 18), phases(9, 18)},
          .threads = 2};
}

TEST(Prediction, OfPlentyOfBandwidthDividesAllByTheCores) {
  const auto step = predict(profile_of_two_threads(), 0, {.cores = 8, .bytes_per_second = 1e12});
  ASSERT_TRUE(step);
  EXPECT_DOUBLE_EQ(step->rest, (30 - 2 * 3) * 2.0 / 8);
  EXPECT_DOUBLE_EQ(step->layers, 2 * 3 * 2.0 / 8);
  EXPECT_DOUBLE_EQ(step->step(), 30 * 2.0 / 8);
  EXPECT_DOUBLE_EQ(step->share(), 6.0 / 30);
}

TEST(Prediction, OfManyCoresLeavesTheLayersToTheMemory) {
  const auto step = predict(profile_of_two_threads(), 0, {.cores = 2'000'000, .bytes_per_second = 10});
  ASSERT_TRUE(step);
  EXPECT_NEAR(step->rest, 0, 1e-4);
  EXPECT_DOUBLE_EQ(step->layers, 2 * (100 + 400) / 10.0);
}

TEST(Prediction, TakesTheLongerOfBothInEachPhase) {
  // Forward 2 x 100 bytes at 125 a second, 1.6 s, against 2 x 1 s / 2; backward 2 x 400, 6.4 s, against 2 x 2 s / 2.
  EXPECT_DOUBLE_EQ(predict(profile_of_two_threads(), 0, {.cores = 4, .bytes_per_second = 125})->layers, 1.6 + 6.4);
  // Forward 0.5 s against 1 s: the cores; backward 2 s each: equal.
  EXPECT_DOUBLE_EQ(predict(profile_of_two_threads(), 0, {.cores = 4, .bytes_per_second = 400})->layers, 1 + 2);
}

TEST(Prediction, ComparesStepsWithTheReferences) {
  const Machine machine{.cores = 4, .bytes_per_second = 125};
  EXPECT_DOUBLE_EQ(*predicted_speed(profile_of_two_threads(), 0, machine), 1);
  EXPECT_DOUBLE_EQ(*predicted_speed(profile_of_two_threads(), 1, machine), (24 / 2.0 + 8) / (24 / 2.0 + 4));
  EXPECT_FALSE(predict(profile_of_two_threads(), 2, machine));
  EXPECT_FALSE(predicted_speed(profile_of_two_threads(), 2, machine));
}

TEST(Prediction, OfLayersThatTakeLongerThanTheirStepHasNoRest) {
  auto profile = profile_of_two_threads();
  profile.steps[0] = phases(1, 2);
  EXPECT_EQ(predict(profile, 0, {.cores = 2, .bytes_per_second = 1e12})->rest, 0);
}

TEST(PredictionCheck, ComparesWithTheStepOfAllThreads) {
  auto one = profile_of_two_threads();
  one.threads = 1;
  auto all = profile_of_two_threads();
  all.steps[0] = phases(5, 7);
  const auto check = check_prediction(one, all, 1e12);
  EXPECT_EQ(check.from_threads, 1);
  EXPECT_EQ(check.machine.cores, 2);
  EXPECT_DOUBLE_EQ(check.predicted[0]->step(), 15);
  EXPECT_DOUBLE_EQ(check.measured[0], 12);
  EXPECT_DOUBLE_EQ(*error_of(check, 0), 15.0 / 12 - 1);
  EXPECT_FALSE(error_of(check, 2));
}

TEST(PredictionRecord, HasTheModelTheFiguresAndTheCheck) {
  const Machine machine{.cores = 4, .bytes_per_second = 125};
  const auto check = check_prediction(profile_of_two_threads(), profile_of_two_threads(), 1e12);
  const auto record = prediction_record(profile_of_two_threads(), machine, &check);
  EXPECT_EQ(record["model"], kPredictionModel);
  EXPECT_EQ(record["assumptions"].size(), kPredictionAssumptions.size());
  EXPECT_EQ(record["cores"], 4);
  EXPECT_EQ(record["threads_measured"], 2);
  EXPECT_DOUBLE_EQ(record["norms"][0]["step_seconds"].get<double>(), 20);
  EXPECT_TRUE(record["norms"][2]["step_seconds"].is_null());
  EXPECT_TRUE(record["norms"][2]["speed"].is_null());
  EXPECT_NEAR(record["check"]["norms"][0]["error"].get<double>(), 0, 1e-12);
  EXPECT_TRUE(prediction_record(profile_of_two_threads(), machine, nullptr)["check"].is_null());
}

TEST(LayerBytes, AreThePassesOfEachNorm) {
  const StepCase step = make_step_case("resnet20", 8, 32);
  NetworkLayer layer{.names = {"bn"}, .sizes = {8, 16, 32, 32}, .parts = {16}, .fusion = Fusion::kRelu};
  const double unit = 4.0 * 8 * 16 * 32 * 32;
  const auto units = [&](const char* norm, const char* activation, double sampled = 1) {
    const auto bytes = bytes_of(layer, activation, step, norm, sampled);
    return std::pair(bytes->forward / unit, bytes->backward / unit);
  };
  using Pair = std::pair<double, double>;
  EXPECT_EQ(units("torch", "relu"), Pair(6, 8));
  EXPECT_EQ(units("torch", "identity"), Pair(4, 5));
  EXPECT_EQ(units("BN", "relu6"), Pair(3, 5));
  EXPECT_EQ(units("LS-1/64", "relu", 0.25), Pair(2.5, 3.75));
  EXPECT_EQ(units("none", "relu"), Pair(2, 3));
  EXPECT_EQ(units("none", "identity"), Pair(0, 0));
  EXPECT_FALSE(bytes_of(layer, "relu", step, "GN-8", 1));
  EXPECT_FALSE(bytes_of(layer, "relu", step, "LS-1/64;stat_batch=4", 1));
  EXPECT_EQ(bytes_of(layer, "relu", step, "VDN-2/128", 0.25)->forward, 2.5 * unit * 10 / 8) << "with virtual rows";

  layer.fusion = Fusion::kAddRelu;
  EXPECT_EQ(units("torch", "relu"), Pair(9, 8));
  EXPECT_EQ(units("torch", "identity"), Pair(7, 5));
  EXPECT_EQ(units("BN", "identity"), Pair(4, 5));
  EXPECT_EQ(units("BN", "relu"), Pair(4 + 1 / 32.0, 6 + 1 / 32.0));
  EXPECT_EQ(units("BN", "relu6"), Pair(4 + 2 / 32.0, 6 + 2 / 32.0));

  layer.fusion = Fusion::kRelu;
  layer.parts = {8, 8};
  EXPECT_EQ(units("torch", "relu"), Pair(8, 8)) << "concatenated first";
  EXPECT_EQ(units("BN", "relu"), Pair(3, 5)) << "read where they are";
}

TEST(MeasureProfileWith, PutsTheThreadsBack) {
  const int before = at::get_num_threads();
  const StepCase step = make_step_case("small", 2, 8);
  const Effort effort{.rounds = 1, .seconds = 0, .repeats = 1, .seconds_per_turn = 0, .settling_calls = 1};
  const auto profile = measure_profile_with(1, step, {"torch", "GN-8"}, effort, [](auto...) {});
  EXPECT_EQ(profile.threads, 1);
  EXPECT_EQ(at::get_num_threads(), before);
  EXPECT_TRUE(profile.layers.front().bytes[0]);
  EXPECT_FALSE(profile.layers.front().bytes[1]);
}

TEST(CopyBandwidth, IsANumberAboveZero) { EXPECT_GT(copy_bandwidth(1 << 16, 3), 0); }

}  // namespace
}  // namespace samplenorm::bench
