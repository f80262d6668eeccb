#include <gtest/gtest.h>

#include "report/testing.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;

/// Three layers whose errors correlate by `correlation`; `error` is the median layer's, for deviations the same.
json layers(const std::string& norm, double error, double correlation) {
  const json boxes{{{"median", error / 2}}, {{"median", error}}, {{"median", error * 9}}};
  const json matrix{{1, correlation, correlation}, {correlation, 1, correlation}, {correlation, correlation, 1}};
  return {{"part", "layers"},
          {"norm", norm},
          {"model", "resnet8"},
          {"data", "cifar10"},
          {"steps", 50},
          {"mean_errors", boxes},
          {"deviation_errors", boxes},
          {"mean_correlation", matrix},
          {"deviation_correlation", matrix},
          {"mean_correlation_average", correlation},
          {"deviation_correlation_average", correlation}};
}

TestStudies errors(std::initializer_list<json> results) {
  TestStudies studies;
  studies.study("error");
  for (const auto& result : results) studies.add(result);
  return studies;
}

TEST(ErrorClaims, CorrelationsAreCompared) {
  constexpr const char *kLess = "correlate less with BS than with NS", *kMore = "correlate more with FS and VDN";
  EXPECT_EQ(errors({layers("NS-4/128", 1, 0.5), layers("BS-4/128", 1, 0.2)}).verdict(kLess), kHolds);
  EXPECT_EQ(errors({layers("NS-4/128", 1, 0.1), layers("BS-4/128", 1, 0.2)}).verdict(kLess), kDoesNotHold);
  EXPECT_EQ(errors({layers("BS-4/128", 1, 0.2)}).verdict(kLess), kNotRunYet);
  const auto more = [&](double vdn) {
    return errors({layers("BS-4/128", 1, 0.2), layers("FS-1/32", 1, 0.3), layers("VDN-1/128", 1, vdn)}).verdict(kMore);
  };
  EXPECT_EQ(more(0.3), kHolds);
  EXPECT_EQ(more(0.1), kDoesNotHold);
  EXPECT_EQ(errors({layers("BS-4/128", 1, 0.2), layers("FS-1/32", 1, 0.3)}).verdict(kMore), kNotRunYet);
}

TEST(ErrorClaims, NegativeCorrelationsAreCountedWhereTheyAreNotChance) {
  constexpr const char* kWords = "correlate negatively";  // over 50 steps: below -0.42
  EXPECT_EQ(errors({layers("FS-1/32", 1, -0.5), layers("VDN-1/128", 1, -0.5)}).verdict(kWords), kHolds);
  EXPECT_EQ(errors({layers("FS-1/32", 1, -0.5), layers("VDN-1/128", 1, -0.4)}).verdict(kWords), kDoesNotHold);
  EXPECT_EQ(errors({layers("FS-1/32", 1, -0.5)}).verdict(kWords), kNotRunYet);
  EXPECT_EQ(errors({layers("FS-1/32", 1, -0.5), layers("VDN-1/128", 1, 0)}).claim(kWords).here,
            "FS-1/32 100.0 %, VDN-1/128 0.0 %");
}

TEST(ErrorClaims, TheMedianLayersErrorDecides) {
  constexpr const char *kLeast = "FS has the smallest errors", *kVdn = "VDN's errors are similar",
                       *kBs = "BS and NS have similar", *kOurs = "LS has smaller errors than FS";
  const auto with = [](double fs, double vdn, double ls) {
    return errors({layers("NS-4/128", 1, 0), layers("BS-4/128", 1.2, 0), layers("FS-1/32", fs, 0),
                   layers("VDN-1/128", vdn, 0), layers("LS-1/32", ls, 0)});
  };
  EXPECT_EQ(with(0.5, 1.9, 0.2).verdict(kLeast), kHolds);
  EXPECT_EQ(with(1.1, 1.9, 0.2).verdict(kLeast), kDoesNotHold);
  EXPECT_EQ(with(0.5, 1.9, 0.2).verdict(kVdn), kHolds);
  EXPECT_EQ(with(0.5, 2.1, 0.2).verdict(kVdn), kDoesNotHold);
  EXPECT_EQ(with(0.5, 0.4, 0.2).verdict(kVdn), kDoesNotHold) << "much smaller is not similar either";
  EXPECT_EQ(with(0.5, 1.9, 0.2).verdict(kBs), kHolds);
  EXPECT_EQ(errors({layers("NS-4/128", 1, 0), layers("BS-4/128", 3, 0)}).verdict(kBs), kDoesNotHold);
  EXPECT_EQ(with(0.5, 1.9, 0.2).verdict(kOurs), kHolds);
  EXPECT_EQ(with(0.5, 1.9, 0.6).verdict(kOurs), kDoesNotHold);
  for (const auto* words : {kLeast, kVdn, kBs, kOurs}) EXPECT_EQ(errors({}).verdict(words), kNotRunYet);
  EXPECT_EQ(with(0.5, 1.9, 0.2).claim(kOurs).here, "LS-1/32 0.2 and 0.2; FS-1/32 0.5 and 0.5");
}

}  // namespace
}  // namespace samplenorm::report
