#include <gtest/gtest.h>

#include "report/testing.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;

struct Point {
  const char* pattern;
  int s;
  double measured, predicted = 1, independent = 1;
};

TestStudies variances(std::initializer_list<Point> points) {
  json list = json::array();
  for (const auto& [pattern, s, measured, predicted, independent] : points)
    list.push_back({{"pattern", pattern},
                    {"s", s},
                    {"measured", measured},
                    {"predicted", predicted},
                    {"independent", independent}});
  TestStudies studies;
  studies.study("error").add({{"part", "variance"}, {"points", list}});
  return studies;
}

TEST(FormulaClaims, HalfOfThePredictionsMustBeWithinAQuarter) {
  constexpr const char* kWords = "sum of variances and covariances";
  const Point exact{"patch", 4, 1, 1, 0.1}, near{"patch", 16, 1, 1.2, 0.1}, far{"patch", 64, 1, 1.5, 0.1};
  EXPECT_EQ(variances({exact, near, far}).verdict(kWords), kHolds);
  EXPECT_EQ(variances({exact, near, far}).claim(kWords).here, "half of it within 20.0 %, all within 50.0 %");
  EXPECT_EQ(variances({near, far, far}).verdict(kWords), kDoesNotHold);
  EXPECT_EQ(variances({{"patch", 4, 1, 1.2, 1.1}}).verdict(kWords), kDoesNotHold) << "without covariances it is nearer";
  EXPECT_EQ(variances({}).verdict(kWords), kNotRunYet);
}

TEST(FormulaClaims, ALatticeIsComparedWhereItIsNotThePatch) {
  constexpr const char* kWords = "Points of a lattice";
  const auto with = [](double lattice) {
    return variances({{"patch", 1, 1},
                      {"lattice", 1, 1},
                      {"patch", 4, 0.5},
                      {"lattice", 4, lattice},
                      {"patch", 16, 0.2},
                      {"lattice", 16, 0.2}});
  };
  EXPECT_EQ(with(0.25).verdict(kWords), kHolds);
  EXPECT_EQ(with(0.25).claim(kWords).here, "0.50× of the variance; smaller at 1 of 1 sizes");
  EXPECT_EQ(with(0.6).verdict(kWords), kDoesNotHold);
  EXPECT_EQ(variances({{"patch", 4, 0.5}, {"lattice", 4, 0.2}}).verdict(kWords), kNotRunYet) << "the whole map";
}

TEST(FormulaClaims, PatchesOfABatchAreComparedWithAsManyPointsInRows) {
  constexpr const char* kWords = "those of all rows (FS) estimate";
  // 128 patches of 4 points and one row of 512.
  EXPECT_EQ(variances({{"patch", 4, 0.64}, {"rows", 512, 0.01}}).verdict(kWords), kHolds);
  EXPECT_EQ(variances({{"patch", 4, 0.64}, {"rows", 512, 0.01}}).claim(kWords).here,
            "0.50× of the variance; smaller at 1 of 1 sizes");
  EXPECT_EQ(variances({{"patch", 4, 0.64}, {"rows", 512, 0.004}}).verdict(kWords), kDoesNotHold);
  EXPECT_EQ(variances({{"patch", 4, 0.64}, {"rows", 1024, 0.01}}).verdict(kWords), kNotRunYet);
}

TEST(FormulaClaims, VarianceOfAMovingAverage) {
  constexpr const char* kWords = "A moving average has";
  const auto average = [](double measured) {
    TestStudies studies;
    studies.study("error").add(
        {{"part", "moving_average"}, {"points", {{{"alpha", 1}, {"measured", measured}, {"predicted", 1.0}}}}});
    return studies;
  };
  EXPECT_EQ(average(0.9).verdict(kWords), kHolds);
  EXPECT_EQ(average(0.7).verdict(kWords), kDoesNotHold);
  EXPECT_EQ(TestStudies().verdict(kWords), kNotRunYet);
}

}  // namespace
}  // namespace samplenorm::report
