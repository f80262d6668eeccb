#include "study/watched_norm.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace samplenorm::study {
namespace {

NormOptions options_of(const std::string& spec) { return NormOptions(3).spec(spec).relu(true); }

TEST(WatchedNorm, NormalizesAsTheNormItself) {
  torch::manual_seed(1);
  const auto x = torch::randn({6, 3, 8, 8});
  SampledBatchNorm plain(options_of("FS-1/4"));
  const auto watched = std::make_shared<WatchedNorm>(options_of("FS-1/4"));
  set_seed(*plain, 5);
  set_seed(*watched, 5);
  EXPECT_TRUE(torch::equal(watched->forward(x), plain->forward(x)));
}

TEST(WatchedNorm, FindsNoErrorInStatisticsOfAllPoints) {
  torch::manual_seed(2);
  WatchedNorm norm(options_of("BN"));
  norm.forward(torch::randn({6, 3, 8, 8}) + 2);
  ASSERT_EQ(norm.mean_errors.size(), 1u);
  EXPECT_NEAR(norm.mean_errors[0], 0, 1e-6);
  EXPECT_NEAR(norm.deviation_errors[0], 0, 1e-6);
}

TEST(WatchedNorm, MeasuresTheDistanceOfTheSampleFromTheRealRows) {
  WatchedNorm norm(NormOptions(1).spec("VDN-1/4"));
  // The virtual row says 1; the real ones have mean 3 and deviation 1.
  const auto x = torch::tensor({1.0f, 2.0f, 4.0f}).view({3, 1, 1, 1}).expand({3, 1, 4, 4}).contiguous();
  norm.forward(x);
  ASSERT_EQ(norm.mean_errors.size(), 1u);
  EXPECT_NEAR(norm.mean_errors[0], 2, 1e-6);
  EXPECT_NEAR(norm.deviation_errors[0], 1, 1e-6);
  EXPECT_EQ(norm.input.size(0), 2);
}

TEST(WatchedNorm, CanWatchAnotherSampleThanItsOwn) {
  torch::manual_seed(3);
  WatchedNorm norm(options_of("BN"), "BS-1/8;redraw=step");
  const auto x = torch::randn({8, 3, 4, 4});
  norm.forward(x);
  norm.forward(x);
  norm.forward(x);
  ASSERT_EQ(norm.means.size(), 3u);
  EXPECT_GT(norm.mean_errors[0], 1e-3);
  // Each mean is one row's, and it is not always the same row.
  const auto rows = x.mean({2, 3}).to(torch::kDouble);
  for (const auto& mean : norm.means) EXPECT_LT((rows - mean).norm(2, 1).min().item<double>(), 1e-6);
  EXPECT_FALSE(torch::equal(norm.means[0], norm.means[1]) && torch::equal(norm.means[0], norm.means[2]));
}

TEST(WatchedNorm, KeepsTheStatisticsThatTheNormsOwnRunningOnesAreMadeOf) {
  torch::manual_seed(4);
  SampledBatchNorm plain(options_of("FS-1/4;decay=0.3;first=batch"));
  const auto watched = std::make_shared<WatchedNorm>(options_of("FS-1/4"));
  set_seed(*plain, 6);
  set_seed(*watched, 6);
  torch::Tensor mean, variance;
  for (int step = 0; step < 5; ++step) {
    const auto x = 2 * torch::randn({6, 3, 8, 8}) + 1;
    plain->forward(x);
    watched->forward(x);
    mean = step == 0 ? watched->means.back() : 0.3 * watched->means.back() + 0.7 * mean;
    variance = step == 0 ? watched->variances.back() : 0.3 * watched->variances.back() + 0.7 * variance;
  }
  EXPECT_TRUE(torch::allclose(plain->running_mean.to(torch::kDouble), mean, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(plain->running_var.to(torch::kDouble), variance, 1e-5, 1e-6));
  const auto x = torch::randn({2, 3, 8, 8});
  plain->eval();
  watched->eval();
  watched->set_running_statistics(mean, variance);
  EXPECT_TRUE(torch::allclose(watched->forward(x), plain->forward(x), 1e-4, 1e-5));
}

TEST(WatchedNorm, NotesNothingInEvaluation) {
  WatchedNorm norm(options_of("BN"));
  norm.eval();
  norm.forward(torch::randn({2, 3, 4, 4}));
  EXPECT_TRUE(norm.mean_errors.empty());
}

}  // namespace
}  // namespace samplenorm::study
