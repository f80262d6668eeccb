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
  const auto watched = std::make_shared<WatchedNorm>(options_of("FS-1/4"), 1);
  set_seed(*plain, 5);
  set_seed(*watched, 5);
  EXPECT_TRUE(torch::equal(watched->forward(x), plain->forward(x)));
}

TEST(WatchedNorm, FindsNoErrorInStatisticsOfAllPoints) {
  torch::manual_seed(2);
  WatchedNorm norm(options_of("BN"), 3);
  norm.forward(torch::randn({6, 3, 8, 8}) + 2);
  ASSERT_EQ(norm.mean_errors().size(0), 1);
  EXPECT_NEAR(norm.mean_errors()[0].item<double>(), 0, 1e-6);
  EXPECT_NEAR(norm.deviation_errors()[0].item<double>(), 0, 1e-6);
}

TEST(WatchedNorm, MeasuresTheDistanceOfTheSampleFromTheRealRows) {
  WatchedNorm norm(NormOptions(1).spec("VDN-1/4"), 3);
  // The virtual row says 1; the real ones have mean 3 and deviation 1.
  const auto x = torch::tensor({1.0f, 2.0f, 4.0f}).view({3, 1, 1, 1}).expand({3, 1, 4, 4}).contiguous();
  norm.forward(x);
  ASSERT_EQ(norm.mean_errors().size(0), 1);
  EXPECT_NEAR(norm.mean_errors()[0].item<double>(), 2, 1e-6);
  EXPECT_NEAR(norm.deviation_errors()[0].item<double>(), 1, 1e-6);
  EXPECT_EQ(norm.input.size(0), 2);
}

TEST(WatchedNorm, CanWatchAnotherSampleThanItsOwn) {
  torch::manual_seed(3);
  WatchedNorm norm(options_of("BN"), 3, "BS-1/8;redraw=step");
  const auto x = torch::randn({8, 3, 4, 4});
  norm.means.emplace();
  norm.forward(x);
  norm.forward(x);
  norm.forward(x);
  ASSERT_EQ(norm.means->size(), 3u);
  EXPECT_GT(norm.mean_errors()[0].item<double>(), 1e-3);
  // Each mean is one row's, and it is not always the same row.
  const auto rows = x.mean({2, 3}).to(torch::kDouble);
  for (const auto& mean : *norm.means) EXPECT_LT((rows - mean).norm(2, 1).min().item<double>(), 1e-6);
  EXPECT_FALSE(torch::equal((*norm.means)[0], (*norm.means)[1]) && torch::equal((*norm.means)[0], (*norm.means)[2]));
}

TEST(WatchedNorm, NotesTheFirstStepsAndKeepsMeansWhenAsked) {
  const auto norm = std::make_shared<WatchedNorm>(options_of("NS-1/2"), 2);
  for (int step = 0; step < 3; ++step) norm->forward(torch::randn({4, 3, 8, 8}));
  EXPECT_EQ(norm->mean_errors().size(0), 2);
  EXPECT_FALSE(norm->means.has_value());
  norm->means.emplace();
  norm->forward(torch::randn({4, 3, 8, 8}));
  EXPECT_EQ(norm->means->size(), 1u);
}

TEST(WatchedNorm, NotesNothingInEvaluation) {
  WatchedNorm norm(options_of("BN"), 3);
  norm.eval();
  norm.forward(torch::randn({2, 3, 4, 4}));
  EXPECT_EQ(norm.mean_errors().size(0), 0);
}

}  // namespace
}  // namespace samplenorm::study
