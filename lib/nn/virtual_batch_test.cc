// Virtual rows: what they look like, where they go, and that nobody but the statistics sees them.

#include <sstream>

#include "nn/testing.h"
#include "samplenorm/samplenorm.h"

namespace samplenorm {
namespace {

using testing::close;

/// Images whose neighbouring points agree and whose channels do.
torch::Tensor smooth_images(int64_t count) {
  const torch::Tensor noise = torch::randn({count, 3, 12, 12}, torch::kDouble);
  const torch::Tensor shared = noise.mean(1, true);
  torch::Tensor images = torch::zeros_like(noise);
  for (const int64_t dy : {0, 1, 2})
    for (const int64_t dx : {0, 1, 2}) images += (noise + 2 * shared).roll({dy, dx}, {2, 3});
  return images + torch::tensor({1.0, 2.0, 3.0}, torch::kDouble).view({1, 3, 1, 1});
}

TEST(DatasetStatistics, BatchByBatchEqualsAllAtOnce) {
  torch::manual_seed(1);
  const torch::Tensor images = smooth_images(50) + 1e4;
  DatasetStatistics statistics(3);
  for (const torch::Tensor& batch : images.split(7)) statistics->add(batch);
  EXPECT_TRUE(close(statistics->mean(), images.mean({0, 2, 3}), 1e-12, 0));
  EXPECT_TRUE(close(statistics->std(), images.std({0, 2, 3}, false), 1e-9, 0));
}

TEST(DatasetStatistics, SaveAndLoadKeepEverything) {
  DatasetStatistics statistics(3, true), loaded(3, true);
  statistics->add(smooth_images(9));
  std::stringstream file;
  torch::save(statistics, file);
  torch::load(loaded, file);
  EXPECT_TRUE(torch::equal(loaded->mean(), statistics->mean()));
  EXPECT_TRUE(torch::equal(loaded->std(), statistics->std()));
  EXPECT_TRUE(torch::equal(loaded->spectrum(), statistics->spectrum()));
}

TEST(DatasetStatistics, SpectrumAddsUpToTheVariance) {
  DatasetStatistics statistics(3, true);
  for (int i = 0; i < 4; ++i) statistics->add(smooth_images(16));
  const torch::Tensor power = torch::real(statistics->spectrum().sum({0, 1}).diagonal()) / (144.0 * 144.0);
  EXPECT_TRUE(close(power, statistics->std().square(), 1e-9, 0));
}

TEST(VirtualBatch, WhiteRowsHaveTheMeanAndDeviationAskedFor) {
  VirtualBatch batch(torch::tensor({1.0, -2.0}), torch::tensor({0.5, 3.0}), 200);
  const torch::Tensor rows = batch->virtual_rows(torch::zeros({4, 2, 16, 16}), 0);
  EXPECT_EQ(rows.sizes(), torch::IntArrayRef({200, 2, 16, 16}));
  EXPECT_TRUE(close(rows.mean({0, 2, 3}), torch::tensor({1.0, -2.0}), 0, 0.06));
  EXPECT_TRUE(close(rows.std({0, 2, 3}), torch::tensor({0.5, 3.0}), 0.01, 0));
}

TEST(VirtualBatch, SpectrumRowsHaveTheDataSetsMeanVarianceAndCorrelations) {
  torch::manual_seed(2);
  DatasetStatistics data(3, true);
  for (int i = 0; i < 20; ++i) data->add(smooth_images(100));
  VirtualBatch batch(VirtualBatchOptions(data->mean(), data->std(), 2000).spectrum(data->spectrum()));
  const torch::Tensor rows = batch->virtual_rows(torch::zeros({1, 3, 12, 12}, torch::kDouble), 0);
  const torch::Tensor images = smooth_images(2000);
  EXPECT_TRUE(close(rows.mean({0, 2, 3}), data->mean(), 0, 0.2));
  EXPECT_TRUE(close(rows.std({0, 2, 3}), data->std(), 0.05, 0));
  const auto correlation = [](const torch::Tensor& a, const torch::Tensor& b) {
    return (((a - a.mean()) * (b - b.mean())).mean() / a.std() / b.std()).item<double>();
  };
  for (const int64_t step : {1, 2, 4}) {
    const auto neighbours = [&](const torch::Tensor& x) {
      return correlation(x.select(1, 0), x.select(1, 0).roll({step}, {2}));
    };
    EXPECT_NEAR(neighbours(rows), neighbours(images), 0.05) << step;
  }
  const auto channels = [&](const torch::Tensor& x) { return correlation(x.select(1, 0), x.select(1, 2)); };
  EXPECT_NEAR(channels(rows), channels(images), 0.05);
  EXPECT_GT(channels(images), 0.3);
}

TEST(VirtualBatch, RowsDependOnSeedStepAndChunkAndNothingElse) {
  const auto rows = [](uint64_t seed, uint64_t step, uint64_t chunk) {
    VirtualBatch batch(torch::zeros({1}), torch::ones({1}), 2);
    batch->key.seed = seed;
    batch->key.step = step;
    return batch->virtual_rows(torch::zeros({4, 1, 3, 3}), chunk);
  };
  EXPECT_TRUE(torch::equal(rows(1, 2, 3), rows(1, 2, 3)));
  EXPECT_FALSE(torch::equal(rows(1, 2, 3), rows(2, 2, 3)));
  EXPECT_FALSE(torch::equal(rows(1, 2, 3), rows(1, 3, 3)));
  EXPECT_FALSE(torch::equal(rows(1, 2, 3), rows(1, 2, 4)));
}

TEST(VirtualBatch, EveryTrainingStepDrawsAnew) {
  VirtualBatch batch(torch::zeros({1}), torch::ones({1}), 2);
  const torch::Tensor x = torch::zeros({4, 1, 3, 3});
  EXPECT_FALSE(torch::equal(batch->put_before(x), batch->put_before(x)));
  set_step(*batch, 0);
  const torch::Tensor first = batch->put_before(x);
  set_step(*batch, 0);
  EXPECT_TRUE(torch::equal(batch->put_before(x), first));
}

TEST(VirtualBatch, TakesOffWhatItPutBeforeChunkByChunk) {
  for (const int64_t stat_batch : {0, 4, 5}) {
    VirtualBatch batch(VirtualBatchOptions(torch::zeros({1}), torch::ones({1}), 2).stat_batch(stat_batch));
    const torch::Tensor x = torch::randn({10, 1, 3, 3});
    const torch::Tensor with_rows = batch->put_before(x);
    const int64_t chunks = stat_batch == 0 ? 1 : (10 + stat_batch - 1) / stat_batch;
    EXPECT_EQ(with_rows.size(0), 10 + 2 * chunks);
    EXPECT_TRUE(torch::equal(with_rows.narrow(0, 2, 4), x.narrow(0, 0, 4)));
    EXPECT_TRUE(torch::equal(batch->take_off(with_rows), x));
  }
}

TEST(VirtualBatch, DoesNothingInEvaluation) {
  VirtualBatch batch(torch::zeros({1}), torch::ones({1}), 2);
  batch->eval();
  const torch::Tensor x = torch::randn({4, 1, 3, 3});
  EXPECT_TRUE(torch::equal(batch->forward(x, [](const torch::Tensor& t) { return 2 * t; }), 2 * x));
}

TEST(VirtualBatch, GradientsFlowThroughVirtualRowsIntoTheWeights) {
  torch::manual_seed(3);
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(1, 2, 3).bias(false));
  SampledBatchNorm2d norm(NormOptions(2).spec("VDN-2/4"));
  conv->to(torch::kDouble);
  norm->to(torch::kDouble);
  VirtualBatch batch(torch::zeros({1}), torch::ones({1}), 2);
  const torch::Tensor x = torch::randn({4, 1, 6, 6}, torch::kDouble);
  const auto loss = [&](const torch::Tensor& weight) {
    set_step(*batch, 0);
    return batch->forward(x, [&](const torch::Tensor& t) { return norm->forward(torch::conv2d(t, weight)); });
  };
  EXPECT_LT(testing::gradient_error(conv->weight.detach(), loss), 1e-5);
}

TEST(VirtualBatch, ReferenceRowsStayTheSame) {
  const torch::Tensor reference = torch::randn({3, 1, 2, 2});
  VirtualBatch batch(reference);
  for (int step = 0; step < 2; ++step)
    EXPECT_TRUE(torch::equal(batch->put_before(torch::zeros({4, 1, 2, 2})).narrow(0, 0, 3), reference));
}

}  // namespace
}  // namespace samplenorm
