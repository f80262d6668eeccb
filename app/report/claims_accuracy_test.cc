#include <gtest/gtest.h>

#include "report/testing.h"

namespace samplenorm::report {
namespace {

/// The paper's world: every claim on CIFAR-10, and ours, holds.
TestStudies as_the_paper_has_it(const std::string& data = "cifar10") {
  TestStudies studies;
  studies.study("accuracy");
  const auto add = [&](const char* norm, double top1) { studies.runs(norm, {top1 - 0.001, top1 + 0.001}, {}, data); };
  add("BN", 0.90);
  add("NS-1/128", 0.30), add("NS-4/128", 0.86), add("NS-16/128", 0.88);
  add("BS-1/128", 0.40), add("BS-4/128", 0.89), add("BS-16/128", 0.892);
  add("VDN-1/128", 0.89), add("VDN-4/128", 0.891), add("VDN-16/128", 0.893);
  add("FS-1/64", 0.895), add("FS-1/32", 0.896), add("FS-1/8", 0.897);
  add("LS-1/64", 0.899), add("LS-1/32", 0.899), add("LS-1/8", 0.900);
  add("FS-1/64+VDN-2/128", 0.898);
  return studies;
}

struct OtherAccuracy {
  const char* words;             ///< of the claim
  const char* norm;              ///< whose accuracy
  double otherwise;              ///< makes the claim false
  const char* needed = nullptr;  ///< a norm without which it is not run; `norm` where not given
};

class AccuracyClaim : public testing::TestWithParam<OtherAccuracy> {};

TEST_P(AccuracyClaim, HoldsOrNotOrIsNotRunYet) {
  const auto& [words, norm, otherwise, needed] = GetParam();
  EXPECT_EQ(as_the_paper_has_it().verdict(words), kHolds);

  TestStudies other, without;
  other.study("accuracy"), without.study("accuracy");
  const std::string method = std::string(needed != nullptr ? needed : norm);
  const auto paper = as_the_paper_has_it();
  for (const auto& [fields, begin] : paper.all().front().results) {
    auto changed = fields;
    if (fields["norm"] == norm) changed["top1"] = otherwise;
    other.add(changed);
    if (!fields["norm"].get<std::string>().starts_with(method)) without.add(fields);
  }
  EXPECT_EQ(other.verdict(words), kDoesNotHold);
  EXPECT_EQ(without.verdict(words), kNotRunYet);
  EXPECT_EQ(TestStudies().verdict(words), kNotRunYet);
}

INSTANTIATE_TEST_SUITE_P(
    Figure3, AccuracyClaim,
    testing::Values(OtherAccuracy{"CIFAR-10: above a ratio of 2 %", "BS-4/128", 0.879, "BN"},
                    OtherAccuracy{"CIFAR-10: BS, FS and VDN are more accurate than NS", "VDN-4/128", 0.85, "NS"},
                    OtherAccuracy{"CIFAR-10: FS at 1.6 %", "FS-1/64", 0.889},
                    OtherAccuracy{"CIFAR-10: at the same ratio FS is the most", "FS-1/8", 0.89, "VDN"},
                    OtherAccuracy{"CIFAR-10: FS hardly depends", "FS-1/64", 0.87, "FS"},
                    OtherAccuracy{"CIFAR-10: at 0.8 % of the data VDN", "BS-1/128", 0.895},
                    OtherAccuracy{"CIFAR-10: more virtual rows", "VDN-1/128", 0.7, "VDN"},
                    OtherAccuracy{"CIFAR-10: BS is more accurate than NS", "BS-1/128", 0.2, "BS"},
                    OtherAccuracy{"CIFAR-10: virtual rows serve better", "VDN-16/128", 0.89, "VDN"},
                    OtherAccuracy{"CIFAR-10: FS with VDN is more", "FS-1/64+VDN-2/128", 0.894},
                    OtherAccuracy{"LS-1/64 is as accurate as BN", "LS-1/64", 0.889},
                    OtherAccuracy{"LS is more accurate than FS", "LS-1/8", 0.89, "LS"}));

TEST(AccuracyClaims, TheDifferenceIsOursMinusThePapers) {
  const auto claim = as_the_paper_has_it().claim("CIFAR-10: FS at 1.6 %");
  EXPECT_EQ(claim.paper, "-0.09 points");
  EXPECT_EQ(claim.here, "-0.5 points");
  EXPECT_EQ(claim.difference, "-0.4 points");
  EXPECT_EQ(claim.where, "Fig. 3");
  EXPECT_EQ(claim.study, "accuracy");
  EXPECT_EQ(claim.command, "samplenorm study accuracy --quick");
  EXPECT_NE(claim.note.find("ResNet-8 on cifar10, 100 images, 2 epochs, 2 seeds (quick form)"), std::string::npos);
  EXPECT_NE(claim.note.find("The intervals overlap."), std::string::npos) << claim.note;
}

TEST(AccuracyClaims, WhatIsNotSoIsNamed) {
  TestStudies studies;
  studies.study("accuracy")
      .runs("NS-1/128", {0.5})
      .runs("BS-1/128", {0.4})
      .runs("NS-4/128", {0.5})
      .runs("BS-4/128", {0.6});
  const auto claim = studies.claim("CIFAR-10: BS is more accurate than NS");
  EXPECT_EQ(claim.here, "in 1 of 2 comparisons");
  EXPECT_EQ(claim.verdict, kDoesNotHold);
  EXPECT_NE(claim.note.find("BS-1/128 40.0 % against NS-1/128 50.0 %"), std::string::npos) << claim.note;
}

TEST(AccuracyClaims, RecalibratedStatisticsThatSayOtherwiseAreMentioned) {
  TestStudies studies;
  studies.study("accuracy").runs("NS-4/128", {0.5}, {{"recalibrated_top1", 0.7}}).runs("BS-4/128", {0.6});
  const auto claim = studies.claim("CIFAR-10: BS is more accurate than NS");
  EXPECT_EQ(claim.verdict, kHolds);
  EXPECT_NE(claim.note.find("With recalibrated statistics: 0 of 1."), std::string::npos) << claim.note;
}

TEST(AccuracyClaims, ARunThatBrokeOffIsNotIgnored) {
  TestStudies studies;
  studies.study("accuracy").runs("BN", {0.5, 0.5}).runs("LS-1/64", {0.6}).broken_run("LS-1/64");
  const auto claim = studies.claim("LS-1/64 is as accurate as BN");
  EXPECT_EQ(claim.verdict, kDoesNotHold) << "60 % and guessing are 35 % together";
  EXPECT_NE(claim.note.find("(1 of 2 broke off)"), std::string::npos) << claim.note;
}

TEST(AccuracyClaims, Cifar100IsJudgedWhereItWasRun) {
  constexpr const char* kRow = "CIFAR-100: FS-1/64 is more accurate than BN";
  EXPECT_EQ(as_the_paper_has_it().verdict(kRow), kCannotBeRun);
  EXPECT_NE(as_the_paper_has_it().claim(kRow).note.find("not available"), std::string::npos);
  EXPECT_EQ(as_the_paper_has_it("cifar100").verdict("CIFAR-100: BS is more accurate than NS"), kHolds);
  EXPECT_EQ(as_the_paper_has_it("cifar100").verdict(kRow), kDoesNotHold);
  EXPECT_EQ(as_the_paper_has_it("cifar100").verdict("CIFAR-100: NS-8/128"), kNotRunYet);
  TestStudies studies;
  studies.study("accuracy", "full").runs("BN", {0.708}, {}, "cifar100").runs("FS-1/64", {0.716}, {}, "cifar100");
  EXPECT_EQ(studies.verdict(kRow), kHolds);
  EXPECT_EQ(studies.claim(kRow).difference, "+0.4 points");
  EXPECT_EQ(studies.claim(kRow).command, "samplenorm study accuracy --full");
}

}  // namespace
}  // namespace samplenorm::report
