#include "record/metrics_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "record/test_folder.h"

namespace samplenorm::record {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const StepRecord kStep{.epoch = 1, .step = 7, .loss = 0.1, .rate = 0.05, .seconds = 0.25, .waited_seconds = 0};
const char* const kStepLine =
    R"({"kind":"step","epoch":1,"step":7,"loss":0.1,"rate":0.05,"seconds":0.25,"waited_seconds":0.0})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(MetricsLineTest, AStepIsOneObject) { EXPECT_EQ(to_line(kStep), kStepLine); }

TEST(MetricsLineTest, AStepComesBackToTheLastBit) {
  StepRecord step = kStep;
  step.loss = 1.0 / 3;
  step.rate = std::numeric_limits<double>::denorm_min();
  step.step = std::numeric_limits<int64_t>::max();
  const auto read = std::get<StepRecord>(parse_line(to_line(step)));
  EXPECT_EQ(read.epoch, step.epoch);
  EXPECT_EQ(read.step, step.step);
  EXPECT_EQ(read.loss, step.loss);
  EXPECT_EQ(read.rate, step.rate);
  EXPECT_EQ(read.seconds, step.seconds);
  EXPECT_EQ(read.waited_seconds, step.waited_seconds);
}

TEST(MetricsLineTest, AnEpochComesBackWithEveryField) {
  const EpochRecord epoch{.epoch = 1,
                          .step = 2,
                          .train_loss = 3.5,
                          .train_top1 = 4.5,
                          .test_loss = 5.5,
                          .test_top1 = 6.5,
                          .test_top5 = 7.5,
                          .recalibrated_top1 = 8.5,
                          .recalibrated_top5 = 9.5,
                          .seconds = 10.5,
                          .waited_seconds = 11.5,
                          .skipped_images = 12};
  const auto read = std::get<EpochRecord>(parse_line(to_line(epoch)));
  EXPECT_EQ(read.epoch, 1);
  EXPECT_EQ(read.step, 2);
  EXPECT_EQ(read.train_loss, 3.5);
  EXPECT_EQ(read.train_top1, 4.5);
  EXPECT_EQ(read.test_loss, 5.5);
  EXPECT_EQ(read.test_top1, 6.5);
  EXPECT_EQ(read.test_top5, 7.5);
  EXPECT_EQ(read.recalibrated_top1, 8.5);
  EXPECT_EQ(read.recalibrated_top5, 9.5);
  EXPECT_EQ(read.seconds, 10.5);
  EXPECT_EQ(read.waited_seconds, 11.5);
  EXPECT_EQ(read.skipped_images, 12);
}

TEST(MetricsLineTest, AnOptionalFieldWithoutAValueIsLeftOut) {
  const std::string line = to_line(EpochRecord());
  EXPECT_EQ(line.find("recalibrated"), std::string::npos) << line;
  EXPECT_FALSE(std::get<EpochRecord>(parse_line(line)).recalibrated_top1.has_value());
}

TEST(MetricsLineTest, WhatIsNotFiniteIsNullAndComesBackAsNan) {
  for (const double value : {kNan, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    StepRecord step = kStep;
    step.loss = value;
    EXPECT_NE(to_line(step).find(R"("loss":null)"), std::string::npos) << to_line(step);
    EXPECT_TRUE(std::isnan(std::get<StepRecord>(parse_line(to_line(step))).loss));
  }
  EpochRecord epoch;
  epoch.recalibrated_top1 = kNan;
  EXPECT_TRUE(std::isnan(std::get<EpochRecord>(parse_line(to_line(epoch))).recalibrated_top1.value()));
}

TEST(MetricsLineTest, SaysWhatIsWrong) {
  const std::string good = kStepLine;
  const auto fails = [](const std::string& line, const std::vector<std::string>& parts) {
    expect_error([&] { parse_line(line); }, parts);
  };
  fails("", {"an object of JSON"});
  fails("[1]", {"an object of JSON"});
  fails(good.substr(0, good.size() - 1), {"an object of JSON"});
  fails("{}", {"'kind'"});
  fails(replaced(good, R"("step",)", R"("stop",)"), {"'step' or 'epoch'", R"("stop")"});
  fails(replaced(good, R"("rate":0.05,)", ""), {"'rate'"});
  fails(replaced(good, "}", R"(,"ratte":1})"), {"'step'", "'ratte'"});
  fails(replaced(good, "0.05", R"("0.05")"), {"'rate'", "number", R"("0.05")"});
  fails(replaced(good, R"("step":7)", R"("step":7.5)"), {"'step'", "whole number", "7.5"});
  fails(replaced(good, R"("step":7)", R"("step":null)"), {"'step'", "whole number", "null"});
  fails(replaced(good, R"("step":7)", R"("step":18446744073709551615)"), {"'step'", "whole number"});
}

}  // namespace
}  // namespace samplenorm::record
