#include <gtest/gtest.h>

#include "report/testing.h"

namespace samplenorm::report {
namespace {

TestStudies imagenet() {
  TestStudies studies;
  studies.study("accuracy", "full");
  return studies;
}

TestStudies& add(TestStudies& studies, const char* model, const char* norm, double error) {
  return studies.runs(norm, {1 - error}, {{"model", model}}, "folder");
}

TEST(ImageNetClaims, CannotBeRunWithoutTheData) {
  TestStudies studies;
  studies.study("accuracy").runs("BN", {0.5});
  const auto claim = studies.claim("ResNet-18 with FS-1/32 has");
  EXPECT_EQ(claim.verdict, kCannotBeRun);
  EXPECT_EQ(claim.paper, "30.4 %");
  EXPECT_EQ(claim.where, "Table 2");
  EXPECT_NE(claim.note.find("--full --data folder"), std::string::npos);
  for (const auto* words : {"NS-1/128 does not converge", "BS-1/128 does not converge", "FS mixed with VDN is the most",
                            "DenseNet-121 explodes", "than NS on ImageNet", "than BS and VDN on ImageNet"})
    EXPECT_EQ(studies.verdict(words), kCannotBeRun) << words;
}

TEST(ImageNetClaims, ARowHoldsWithinAPoint) {
  auto studies = imagenet();
  add(studies, "resnet18", "FS-1/32", 0.313);
  add(studies, "resnet18", "BN", 0.309);
  EXPECT_EQ(studies.verdict("ResNet-18 with FS-1/32 has"), kHolds);
  EXPECT_EQ(studies.claim("ResNet-18 with FS-1/32 has").here, "31.3 %");
  EXPECT_EQ(studies.claim("ResNet-18 with FS-1/32 has").difference, "+0.9 points");
  EXPECT_EQ(studies.verdict("ResNet-18 with BN has"), kDoesNotHold);
  EXPECT_EQ(studies.verdict("ResNet-18 with VDN-1/128 has"), kNotRunYet);
  EXPECT_EQ(studies.verdict("DenseNet-121 with BN has"), kNotRunYet) << "the other network's records are not its own";
}

TEST(ImageNetClaims, NotConvergedIsLessThanHalfOfBn) {
  auto studies = imagenet();
  add(studies, "resnet18", "NS-1/128", 0.66);
  EXPECT_EQ(studies.verdict("NS-1/128 does not converge"), kNotRunYet) << "there is no BN";
  add(studies, "resnet18", "BN", 0.3);
  add(studies, "resnet18", "BS-1/128", 0.64);
  EXPECT_EQ(studies.verdict("NS-1/128 does not converge"), kHolds);
  EXPECT_EQ(studies.verdict("BS-1/128 does not converge"), kDoesNotHold);
}

TEST(ImageNetClaims, ComparisonsAtTheSameRatio) {
  for (const bool holds : {true, false}) {
    auto studies = imagenet();
    for (const auto& [norm, error] : {std::pair("NS-1/128", 0.99),
                                      {"NS-4/128", 0.35},
                                      {"BS-4/128", 0.317},
                                      {"VDN-1/128", 0.312},
                                      {"VDN-2/128", 0.308},
                                      {"FS-1/64", holds ? 0.303 : 0.31}})
      add(studies, "resnet18", norm, error);
    EXPECT_EQ(studies.verdict("than NS on ImageNet"), kNotRunYet) << "no FS at a ratio that NS has";
    EXPECT_EQ(studies.verdict("FS mixed with VDN is the most"), kNotRunYet);
    add(studies, "resnet18", "FS-1/32", holds ? 0.304 : 0.36);
    add(studies, "resnet18", "FS-1/64+VDN-2/128", holds ? 0.3 : 0.309);
    const auto* verdict = holds ? kHolds : kDoesNotHold;
    EXPECT_EQ(studies.verdict("than NS on ImageNet"), verdict);
    EXPECT_EQ(studies.verdict("than BS and VDN on ImageNet"), verdict);
    EXPECT_EQ(studies.verdict("FS mixed with VDN is the most"), verdict);
  }
}

TEST(ImageNetClaims, ExplodedIsARunThatBrokeOff) {
  auto studies = imagenet();
  add(studies, "densenet121", "FS-1/64+VDN-2/64", 0.267);
  EXPECT_EQ(studies.verdict("DenseNet-121 explodes"), kNotRunYet);
  auto exploded = studies, fine = studies;
  exploded.broken_run("VDN-2/64", {{"model", "densenet121"}, {"data", "folder"}});
  EXPECT_EQ(exploded.verdict("DenseNet-121 explodes"), kHolds);
  add(fine, "densenet121", "VDN-2/64", 0.28);
  EXPECT_EQ(fine.verdict("DenseNet-121 explodes"), kDoesNotHold);
}

}  // namespace
}  // namespace samplenorm::report
