// The claims on time: cost, speed, regularity.

#include <gtest/gtest.h>

#include <map>

#include "report/testing.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;

TestStudies cost(double torch_speed) {
  TestStudies studies;
  studies.study("cost").add(
      {{"model", "resnet18"},
       {"batch", 32},
       {"side", 112},
       {"norms", {{{"norm", "torch"}, {"speed", torch_speed}}, {{"norm", "BN"}, {"speed", 0.9}}}}});
  return studies;
}

TEST(CostClaims, TheCostIsWhatIsMissingToTheSpeedWithout) {
  constexpr const char* kWords = "training speed of ResNet-18";
  EXPECT_EQ(cost(0.6).verdict(kWords), kHolds);
  EXPECT_EQ(cost(0.6).claim(kWords).here, "40.0 %");
  EXPECT_EQ(cost(0.6).claim(kWords).difference, "+0.0 points");
  EXPECT_NE(cost(0.6).claim(kWords).note.find("Our kernels: BN 10.0 %."), std::string::npos);
  EXPECT_EQ(cost(0.5).claim(kWords).difference, "+7.0 points") << "to the nearer end of the range";
  EXPECT_EQ(cost(0.8).verdict(kWords), kDoesNotHold);
  EXPECT_EQ(cost(0.8).claim(kWords).difference, "-12.0 points");
  EXPECT_EQ(cost(0.6).verdict("training speed of ResNet-50"), kNotRunYet);
}

using Speeds = std::map<std::string, double>;

/// Steps of one network: speeds to torch; layers are twice as much faster, forward 4 and backward 1.5 times.
void add_network(TestStudies& studies, const std::string& model, const Speeds& speeds) {
  json steps = json::array();
  for (const auto& [norm, speed] : speeds)
    steps.push_back(
        {{"norm", norm},
         {"step_speed", speed},
         {"layers_speed", 2 * speed - 1},
         {"layers_seconds", {{"forward", norm == "torch" ? 4 : 1}, {"backward", norm == "torch" ? 3 : 2}}}});
  studies.add({{"model", model}, {"batch", 32}, {"side", 112}, {"reference", "torch"}, {"steps", steps}});
}

const Speeds kResNet18{
    {"torch", 1},        {"BN", 1.1},        {"L1BN", 1.01},    {"RBN", 1.02},    {"FS-1/32", 1.12},
    {"VDN-1/128", 1.13}, {"BS-4/128", 1.18}, {"NS-4/128", 1.2}, {"LS-1/32", 1.2}, {"FS-1/64+VDN-2/128", 1.1}};
const Speeds kDenseNet{{"torch", 1}, {"FS-1/64+VDN-2/128", 1.21}};
const Speeds kResNet56{{"torch", 1}, {"FS-1/32", 1.01}};

TestStudies speeds(const Speeds& resnet18, const Speeds& densenet, const Speeds& resnet56) {
  TestStudies studies;
  studies.study("speed");
  add_network(studies, "resnet18", resnet18);
  add_network(studies, "densenet121", densenet);
  add_network(studies, "resnet56", resnet56);
  return studies;
}

struct OtherSpeed {
  const char *words, *model, *norm;
  double otherwise;  ///< speed that makes the claim false
};

class SpeedClaim : public testing::TestWithParam<OtherSpeed> {};

TEST_P(SpeedClaim, HoldsOrNotOrIsNotRunYet) {
  const auto& [words, model, norm, otherwise] = GetParam();
  std::map<std::string, Speeds> networks{{"resnet18", kResNet18}, {"densenet121", kDenseNet}, {"resnet56", kResNet56}};
  const auto verdict = [&] {
    return speeds(networks["resnet18"], networks["densenet121"], networks["resnet56"]).verdict(words);
  };
  EXPECT_EQ(verdict(), kHolds);
  networks[model][norm] = otherwise;
  EXPECT_EQ(verdict(), kDoesNotHold);
  networks[model].erase(norm);
  EXPECT_EQ(verdict(), kNotRunYet);
}

INSTANTIATE_TEST_SUITE_P(
    Table3, SpeedClaim,
    testing::Values(OtherSpeed{"hardly faster with L1BN", "resnet18", "L1BN", 1.03},
                    OtherSpeed{"hardly faster with RBN", "resnet18", "RBN", 1.04},
                    OtherSpeed{"ResNet-18 trains this much faster with FS-1/32", "resnet18", "FS-1/32", 1.08},
                    OtherSpeed{"this much faster with VDN-1/128", "resnet18", "VDN-1/128", 1.11},
                    OtherSpeed{"this much faster with BS-4/128", "resnet18", "BS-4/128", 1.14},
                    OtherSpeed{"this much faster with FS and VDN", "densenet121", "FS-1/64+VDN-2/128", 1.19},
                    OtherSpeed{"faster than L1BN and RBN", "resnet18", "VDN-1/128", 1.015},
                    OtherSpeed{"gains more than ResNet-18", "densenet121", "FS-1/64+VDN-2/128", 1.05},
                    OtherSpeed{"FS gains nothing", "resnet56", "FS-1/32", 1.03},
                    OtherSpeed{"BS trains faster than FS and VDN", "resnet18", "BS-4/128", 1.12},
                    OtherSpeed{"Sampling with our kernels", "resnet18", "LS-1/32", 1.09}));

TEST(SpeedClaims, TheFastestMethodOfThePaperCounts) {
  constexpr const char *kLayers = "up to twice as fast", *kSteps = "up to a fifth faster";
  EXPECT_EQ(speeds(kResNet18, kDenseNet, kResNet56).verdict(kSteps), kHolds);
  EXPECT_EQ(speeds(kResNet18, kDenseNet, kResNet56).claim(kSteps).here, "+21.0 %");
  EXPECT_EQ(speeds(kResNet18, kDenseNet, kResNet56).claim(kSteps).difference, "+1.0 points");
  EXPECT_EQ(speeds(kResNet18, kDenseNet, kResNet56).verdict(kLayers), kDoesNotHold);
  EXPECT_EQ(speeds(kResNet18, {{"torch", 1}, {"FS-1/32", 1.5}}, kResNet56).claim(kLayers).here, "2.00×");
  EXPECT_EQ(speeds(kResNet18, {{"torch", 1}, {"FS-1/32", 1.5}}, kResNet56).verdict(kLayers), kHolds);
  const Speeds only_ours{{"torch", 1}, {"LS-1/32", 3}};
  EXPECT_EQ(speeds(only_ours, only_ours, only_ours).verdict(kSteps), kNotRunYet);
  EXPECT_EQ(speeds({{"torch", 1}, {"FS-1/32", 1.1}}, only_ours, only_ours).verdict(kSteps), kDoesNotHold);
}

TEST(SpeedClaims, GainsAreAgainstTorchAndNotesSayAgainstOurBn) {
  const auto claim = speeds(kResNet18, kDenseNet, kResNet56).claim("this much faster with FS-1/32");
  EXPECT_EQ(claim.here, "+12.0 %");
  EXPECT_EQ(claim.difference, "+1.3 points");
  EXPECT_NE(claim.note.find("Against our exact BN: +1.8 %."), std::string::npos) << claim.note;
  // Another reference in the record is turned round.
  Speeds doubled = kResNet18;
  for (auto& [norm, speed] : doubled) speed *= 2;
  EXPECT_EQ(speeds(doubled, kDenseNet, kResNet56).claim("this much faster with FS-1/32").here, "+12.0 %");
}

TEST(SpeedClaims, DirectionsAreTheLayersOwn) {
  const auto studies = speeds(kResNet18, kDenseNet, kResNet56);
  EXPECT_EQ(studies.verdict("the forward pass of normalization"), kHolds);
  EXPECT_EQ(studies.claim("the forward pass of normalization").here, "+300.0 %");
  EXPECT_EQ(studies.verdict("the backward pass of normalization"), kDoesNotHold);
  EXPECT_EQ(studies.claim("the backward pass of normalization").here, "+50.0 %");
  EXPECT_EQ(speeds({{"torch", 1}}, kDenseNet, kResNet56).verdict("the forward pass of normalization"), kNotRunYet);
}

struct Place {
  const char *pattern, *index, *redrawn;
  double cost;
};

TestStudies regularity(std::initializer_list<Place> places) {
  json list = json::array();
  for (const auto& [pattern, index, redrawn, cost] : places)
    list.push_back({{"pattern", pattern}, {"index", index}, {"redrawn", redrawn}, {"cost", cost}});
  TestStudies studies;
  studies.study("regularity").add({{"part", "places"}, {"format", "channels_last"}, {"places", list}});
  return studies;
}

TEST(RegularityClaims, PlacesThatDifferInOneThingAreCompared) {
  const Place reference{"patch", "shared", "static", 1};
  struct {
    const char* words;
    Place slow;
  } const cases[] = {{"Scattered points take longer", {"scattered", "shared", "static", 2}},
                     {"redrawn at each step takes longer", {"patch", "shared", "each step", 2}},
                     {"index for each channel takes longer", {"patch", "per channel", "static", 2}}};
  for (const auto& [words, slow] : cases) {
    EXPECT_EQ(regularity({reference, slow}).verdict(words), kHolds);
    EXPECT_EQ(regularity({reference, slow}).claim(words).here, "2.00×");
    EXPECT_EQ(regularity({reference, {slow.pattern, slow.index, slow.redrawn, 1.01}}).verdict(words), kDoesNotHold);
    EXPECT_EQ(regularity({reference}).verdict(words), kNotRunYet);
    EXPECT_EQ(regularity({reference, {"scattered", "per channel", "each step", 9}}).verdict(words), kNotRunYet)
        << "places that differ in more tell nothing";
  }
}

TEST(RegularityClaims, ALatticeCostsWhatAPatchCosts) {
  constexpr const char* kWords = "a lattice costs what a patch costs";
  const Place patch{"patch", "shared", "static", 1};
  EXPECT_EQ(regularity({patch, {"lattice", "shared", "static", 1.05}}).verdict(kWords), kHolds);
  EXPECT_EQ(regularity({patch, {"lattice", "shared", "static", 1.2}}).verdict(kWords), kDoesNotHold);
  EXPECT_EQ(regularity({patch}).verdict(kWords), kNotRunYet);
}

}  // namespace
}  // namespace samplenorm::report
