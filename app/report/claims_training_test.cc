// The claims on curves, decay and tiny batches.

#include <gtest/gtest.h>

#include "report/testing.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;

/// A curve that jumps by `jump` from point to point.
json curve(double loss, double jump) {
  return {{"train_loss", loss}, {"losses", {2.0, 1.5, loss, loss + jump, loss, loss + jump}}};
}

TEST(CurvesClaims, HarmlessIsWithinATenthOfTheLoss) {
  for (const auto* method : {"FS", "VDN", "LS"}) {
    const auto words = std::string(method) + " converges as fast as BN";
    TestStudies studies;
    studies.study("curves").runs("BN", {0.5}, {{"train_loss", 1.0}});
    EXPECT_EQ(studies.verdict(words), kNotRunYet);
    auto other = studies;
    EXPECT_EQ(studies.runs(std::string(method) + "-1/64", {0.5}, {{"train_loss", 1.09}}).verdict(words), kHolds);
    EXPECT_EQ(other.runs(std::string(method) + "-1/64", {0.5}, {{"train_loss", 1.11}}).verdict(words), kDoesNotHold);
  }
}

TEST(CurvesClaims, ARunThatBrokeOffDidNotConverge) {
  TestStudies studies;
  studies.study("curves").runs("BN", {0.5}, {{"train_loss", 1.0}}).runs("FS-1/64", {0.5}, {{"train_loss", 1.0}});
  const auto claim = studies.broken_run("FS-1/64").claim("FS converges as fast as BN");
  EXPECT_EQ(claim.verdict, kDoesNotHold);
  EXPECT_EQ(claim.here, "FS-1/64 did not converge; BN 1.000");
}

TEST(CurvesClaims, DegradingBelowARatioNeedsBothSidesOfIt) {
  struct Case {
    double above, below;
    const char* verdict;
  };
  for (const auto& [method, words] : {std::pair("BS", "BS converges more slowly"), {"NS", "NS converges more slowly"}})
    for (const auto& [above, below, verdict] :
         {Case{1.0, 1.5, kHolds}, Case{1.5, 1.6, kDoesNotHold}, Case{1.0, 1.0, kDoesNotHold}}) {
      TestStudies studies;
      studies.study("curves").runs("BN", {0.5}, {{"train_loss", 1.0}});
      studies.runs(std::string(method) + "-4/128", {0.5}, {{"train_loss", above}});
      EXPECT_EQ(studies.verdict(words), kNotRunYet);
      studies.runs(std::string(method) + "-1/128", {0.5}, {{"train_loss", below}});
      EXPECT_EQ(studies.verdict(words), verdict) << method << above << below;
    }
}

TEST(CurvesClaims, ScatteredPointsAreComparedByJumpsAndAccuracy) {
  constexpr const char *kSteady = "train less steadily", *kAccurate = "FRS ends less accurate";
  TestStudies studies;
  studies.study("curves").runs("FS-1/64", {0.5}, curve(1, 0.1)).runs("VDN-1/128", {0.5}, curve(1, 0.2));
  studies.runs("BS-1/128", {0.1}, curve(2, 5)).runs("NS-4/128", {0.1}, curve(2, 5));  // which the paper leaves out
  EXPECT_EQ(studies.verdict(kSteady), kNotRunYet);
  EXPECT_EQ(studies.verdict(kAccurate), kNotRunYet);
  auto steady = studies, broken = studies;
  studies.runs("FRS-1/32", {0.4}, curve(1, 0.3));
  EXPECT_EQ(studies.verdict(kSteady), kHolds);
  EXPECT_EQ(studies.verdict(kAccurate), kHolds);
  steady.runs("FRS-1/32", {0.5}, curve(1, 0.15));
  EXPECT_EQ(steady.verdict(kSteady), kDoesNotHold);
  EXPECT_EQ(steady.verdict(kAccurate), kDoesNotHold);
  broken.broken_run("FRS-1/32");
  EXPECT_EQ(broken.verdict(kSteady), kHolds);
}

TEST(CurvesClaims, ImageNetIsItsOwn) {
  constexpr const char* kWords = "On ImageNet all methods converge";
  TestStudies studies;
  studies.study("curves").runs("BN", {0.5}, {{"train_loss", 1.0}}).runs("FS-1/64", {0.5}, {{"train_loss", 1.0}});
  EXPECT_EQ(studies.verdict(kWords), kCannotBeRun);
  studies.runs("BN", {0.5}, {{"train_loss", 1.0}}, "folder");
  EXPECT_EQ(studies.verdict(kWords), kNotRunYet);
  studies.runs("FS-1/64", {0.5}, {{"train_loss", 1.05}}, "folder")
      .runs("NS-4/128", {0.5}, {{"train_loss", 3.0}}, "folder");
  EXPECT_EQ(studies.verdict(kWords), kHolds);
  EXPECT_EQ(studies.runs("VDN-1/128", {0.5}, {{"train_loss", 1.2}}, "folder").verdict(kWords), kDoesNotHold);
}

TestStudies decay(std::initializer_list<std::pair<double, double>> accuracies) {
  TestStudies studies;
  studies.study("decay");
  for (const auto& [alpha, top1] : accuracies) studies.runs("BS-1/128", {top1}, {{"alpha", alpha}});
  return studies;
}

TEST(DecayClaims, TheBestAlphaIsLookedFor) {
  constexpr const char *kBest = "best decay alpha", *kSmall = "decay that is too small";
  const auto as_in_the_paper = decay({{0.9, 0.5}, {0.7, 0.6}, {0.1, 0.4}});
  EXPECT_EQ(as_in_the_paper.verdict(kBest), kHolds);
  EXPECT_EQ(as_in_the_paper.claim(kBest).here, "best at 0.7");
  EXPECT_EQ(as_in_the_paper.verdict(kSmall), kHolds);
  EXPECT_EQ(decay({{0.9, 0.5}, {0.5, 0.5}, {0.1, 0.6}}).claim(kBest).difference, "-0.6");
  EXPECT_EQ(decay({{0.9, 0.7}, {0.7, 0.6}, {0.1, 0.4}}).verdict(kBest), kDoesNotHold);
  EXPECT_NE(decay({{0.9, 0.7}, {0.7, 0.6}, {0.1, 0.4}}).claim(kBest).note.find("70.0 % at 0.9 against 60.0 % at 0.7"),
            std::string::npos);
  EXPECT_EQ(decay({{0.9, 0.5}, {0.7, 0.6}, {0.1, 0.6}}).verdict(kSmall), kDoesNotHold);
  EXPECT_EQ(decay({{0.7, 0.6}, {0.5, 0.5}, {0.1, 0.4}}).verdict(kBest), kNotRunYet) << "0.9 is missing";
  EXPECT_EQ(decay({{0.9, 0.6}, {0.7, 0.5}}).verdict(kSmall), kNotRunYet);
  EXPECT_EQ(TestStudies().verdict(kBest), kNotRunYet);
}

TestStudies micro(double vdn, double gn, double bn) {
  TestStudies studies;
  studies.study("micro");
  const auto batches = [](int statistic) { return json{{"gradient_batch", 256}, {"statistic_batch", statistic}}; };
  if (bn > 0) studies.runs("BN", {bn}, batches(32)).runs("BN", {0.99}, batches(4));
  if (vdn > 0) studies.runs("VDN-2/128", {vdn}, batches(4));
  if (gn > 0) studies.runs("GN-8", {gn}, batches(4));
  return studies;
}

TEST(MicroClaims, TinyBatches) {
  constexpr const char *kGn = "VDN is at least as accurate as GN", *kBn = "is less accurate than BN with 32";
  EXPECT_EQ(micro(0.5, 0.5, 0.6).verdict(kGn), kHolds);
  EXPECT_EQ(micro(0.4, 0.5, 0.6).verdict(kGn), kDoesNotHold);
  EXPECT_EQ(micro(0.5, 0, 0.6).verdict(kGn), kNotRunYet);
  EXPECT_EQ(micro(0.5, 0.5, 0.6).verdict(kBn), kHolds);
  EXPECT_EQ(micro(0.7, 0.5, 0.6).verdict(kBn), kDoesNotHold);
  EXPECT_EQ(micro(0, 0.5, 0.6).verdict(kBn), kNotRunYet);
  EXPECT_EQ(micro(0.5, 0.5, 0.6).claim(kBn).here, "VDN-2/128 (256, 4) 50.0 %, BN (256, 32) 60.0 %");
}

}  // namespace
}  // namespace samplenorm::report
