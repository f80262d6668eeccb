#include "report/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/norm_name.h"
#include "report/testing.h"
#include "report/training_runs.h"

namespace samplenorm::report {
namespace {

TEST(Figures, StudentsTIsThatOfTheTables) {
  EXPECT_NEAR(student_t(2), 4.303, 1e-3);
  EXPECT_NEAR(student_t(4), 2.776, 1e-3);
  EXPECT_NEAR(student_t(11), 2.201, 1e-3);
  EXPECT_NEAR(student_t(30), 2.042, 1e-3);
}

TEST(Figures, AnIntervalIsThatManyStandardErrors) {
  // A standard deviation of 1 with three values, so a standard error of 1/sqrt(3).
  const auto three = estimate({1, 2, 3});
  EXPECT_DOUBLE_EQ(three.mean, 2);
  EXPECT_NEAR(three.half_width, 4.303 / std::sqrt(3), 1e-3);
  EXPECT_NEAR(estimate({1, 2, 3, 4, 5}).half_width, 2.776 * std::sqrt(2.5 / 5), 1e-3);
  EXPECT_TRUE(std::isnan(estimate({1}).half_width));
  EXPECT_TRUE(std::isnan(estimate({}).mean));
}

TEST(Figures, IntervalsOverlapWhereTheyShareAPoint) {
  EXPECT_TRUE(overlap({0.5, 0.1, 3}, {0.65, 0.06, 3}));
  EXPECT_FALSE(overlap({0.5, 0.1, 3}, {0.65, 0.04, 3}));
  EXPECT_FALSE(overlap(estimate({0.5}), estimate({0.5}))) << "one run has no interval";
}

TEST(Figures, MediansAndMeans) {
  EXPECT_EQ(median({3, 1, std::nan(""), 2}), 2);
  EXPECT_EQ(median({4, 1}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_DOUBLE_EQ(geometric_mean({0.5, 2, 8}), 2);
}

TEST(Figures, NumbersAsText) {
  EXPECT_EQ(percent({0.448, 0.0123, 3}), "44.8 ± 1.2 %");
  EXPECT_EQ(percent(estimate({0.448})), "44.8 %");
  EXPECT_EQ(signed_percent(0.031), "+3.1 %");
  EXPECT_EQ(signed_points(-0.0212), "-2.1 points");
  EXPECT_EQ(signed_points(-0.0002), "+0.0 points");
  EXPECT_EQ(times(1.519), "1.52×");
  EXPECT_EQ(plain(estimate({1.5, std::numeric_limits<double>::infinity()})), "did not converge");
  for (const auto& text : {percent(std::nan("")), signed_percent(std::nan("")), times(std::nan(""))})
    EXPECT_EQ(text, "–");
}

TEST(Figures, NormsAreTakenApart) {
  EXPECT_EQ(norm_name("FS-1/64+VDN-2/128;decay=0.7").method, "FS+VDN");
  EXPECT_DOUBLE_EQ(norm_name("FS-1/64+VDN-2/128;decay=0.7").ratio, 1.0 / 32);
  EXPECT_TRUE(norm_name("FS-1/64;redraw=step").has_options);
  EXPECT_EQ(norm_name("GN-8").method, "GN");
  EXPECT_EQ(norm_name("GN-8").ratio, 1);
  EXPECT_EQ(norm_name("BN").ratio, 1);
  EXPECT_TRUE(same_ratio(1.0 / 49, 1.0 / 64));
  EXPECT_FALSE(same_ratio(1.0 / 32, 1.0 / 64));
}

TEST(Figures, RunsThatBrokeOffCountAsGuessing) {
  TestStudies studies;
  studies.study("accuracy").runs("BN", {0.5, 0.6}).broken_run("BN");
  const auto all = training_runs(studies.all(), "accuracy");
  const auto* runs = find(all, DataSet::kCifar10);
  ASSERT_NE(runs, nullptr);
  const auto* bn = find(*runs, "BN", 1);
  ASSERT_NE(bn, nullptr);
  EXPECT_EQ(bn->broke_off, 1u);
  EXPECT_EQ(bn->top1.count, 3u);
  EXPECT_DOUBLE_EQ(bn->top1.mean, 0.4);
  EXPECT_TRUE(std::isinf(bn->loss.mean));
}

TEST(Figures, TheRecordedRatioCountsAndTheNearestIsFound) {
  TestStudies studies;
  studies.study("accuracy").runs("FS-1/64", {0.1}, {{"sampled", 0.019}}).runs("FS-1/64;redraw=step", {0.2});
  const auto all = training_runs(studies.all(), "accuracy");
  const auto& runs = *find(all, DataSet::kCifar10);
  EXPECT_EQ(find(runs, "FS", 0.02)->norm.text, "FS-1/64");
  EXPECT_EQ(find(runs, "FS", 1.0 / 64)->norm.text, "FS-1/64;redraw=step");
  EXPECT_EQ(find(runs, "FS", 1.0 / 8), nullptr);
  EXPECT_EQ(all_of(runs, "FS").front()->norm.text, "FS-1/64;redraw=step");
}

TEST(Figures, RecordsOfFullScaleComeFirst) {
  TestStudies studies;
  studies.study("accuracy", "quick").runs("BN", {0.5}).study("accuracy", "full").runs("BN", {0.9});
  const auto all = training_runs(studies.all(), "accuracy");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(find(all, DataSet::kCifar10)->norms.front().top1.mean, 0.9);
}

}  // namespace
}  // namespace samplenorm::report
