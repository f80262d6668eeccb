#include "study/estimate_variance.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <nlohmann/json.hpp>

namespace samplenorm::study {
namespace {

using Points = std::map<std::pair<std::string, int64_t>, nlohmann::json>;

Points estimates_of(const torch::Tensor& x) {
  Points points;
  for (const auto& point : variances_of_estimates(x)) points[{point["pattern"], point["s"]}] = point;
  return points;
}

double at(const nlohmann::json& point, const char* key) { return point[key].get<double>(); }

TEST(VariancesOfEstimates, OfIndependentPointsFallAsOneOverTheirNumber) {
  torch::manual_seed(3);
  for (const auto& [key, point] : estimates_of(torch::randn({256, 4, 16, 16}))) {
    // Of 32 groups of 8 rows and 4 channels the variance is known to about 15 %.
    EXPECT_NEAR(at(point, "measured") / at(point, "independent"), 1, 0.5) << point;
    EXPECT_NEAR(at(point, "predicted") / at(point, "independent"), 1, 0.25) << point;
  }
}

TEST(VariancesOfEstimates, OfPointsThatAreAllAlikeInARowDoNotFall) {
  torch::manual_seed(4);
  const auto points = estimates_of(torch::randn({64, 2, 1, 1}).expand({64, 2, 8, 8}));
  EXPECT_NEAR(at(points.at({"patch", 16}), "measured"), 1, 1e-6);
  EXPECT_NEAR(at(points.at({"patch", 16}), "predicted"), 1, 1e-6);
  EXPECT_NEAR(at(points.at({"lattice", 16}), "predicted"), 1, 1e-6);
  EXPECT_NEAR(at(points.at({"rows", 4 * 64}), "measured"), 0.25, 0.1);
}

TEST(VariancesOfEstimates, OfASmoothFieldAreAsTheCovariancesSayAndSmallerForALattice) {
  torch::manual_seed(5);
  const auto x = torch::avg_pool2d(torch::randn({256, 2, 36, 36}), 5, 1);
  const auto points = estimates_of(x);
  for (const int64_t s : {4, 16}) {
    const auto &patch = points.at({"patch", s}), &lattice = points.at({"lattice", s});
    EXPECT_GT(at(patch, "measured"), 2 * at(patch, "independent"));
    EXPECT_NEAR(at(patch, "measured") / at(patch, "predicted"), 1, 0.05);
    EXPECT_NEAR(at(lattice, "measured") / at(lattice, "predicted"), 1, 0.1);
    EXPECT_LT(at(lattice, "measured"), 0.7 * at(patch, "measured"));
  }
}

TEST(VariancesOfMovingAverages, OfIndependentEstimatesAreAsTheFormulaSays) {
  torch::manual_seed(6);
  for (const auto& point :
       variances_of_moving_averages({torch::randn({4000, 8}), 3 * torch::randn({4000, 2}) + 1}, {0.1, 0.5, 1}))
    EXPECT_NEAR(at(point, "measured") / at(point, "predicted"), 1, 0.05) << point;
}

TEST(VariancesOfMovingAverages, OfEstimatesThatGoTogetherAreLarger) {
  torch::manual_seed(7);
  const auto slow = torch::randn({400, 4}).repeat_interleave(10, 0);
  const auto points = variances_of_moving_averages({slow}, {0.5});
  EXPECT_GT(at(points[0], "measured"), 1.5 * at(points[0], "predicted"));
}

}  // namespace
}  // namespace samplenorm::study
