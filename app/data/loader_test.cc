#include "data/loader.h"

#include <torch/types.h>

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "data/synthetic.h"
#include "data/testing.h"

namespace samplenorm::data {
namespace {

DataSet small_set() { return make_synthetic({.train = 53, .test = 21, .classes = 3, .side = 12}); }

/// What is left of the epoch.
std::vector<Batch> rest_of(Loader& loader) {
  std::vector<Batch> batches;
  while (auto batch = loader.next()) batches.push_back(std::move(*batch));
  return batches;
}

std::vector<Batch> epoch_of(const DataSet& set, const LoaderOptions& options, int64_t epoch, int64_t first_step = 0) {
  Loader loader(set, options);
  loader.begin(epoch, first_step);
  return rest_of(loader);
}

void expect_equal(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i].images.equal(b[i].images)) << i;
    EXPECT_TRUE(a[i].labels.equal(b[i].labels)) << i;
  }
}

/// A set in which each image is one grey value, its index.
class Numbered : public ImageSet {
 public:
  explicit Numbered(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  int64_t label(int64_t index) const override { return index; }
  std::optional<Image> image(int64_t index, int64_t) const override {
    ++asked;
    if (index == fails_at) throw Error("image fails");
    if (index == missing) return std::nullopt;
    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Image{9, 9, 1, std::vector<uint8_t>(81, static_cast<uint8_t>(index))};
  }
  int64_t fails_at = -1;
  int64_t missing = -1;
  bool slow = false;
  mutable std::atomic<int64_t> asked = 0;

 private:
  int64_t size_;
};

DataSet numbered(std::shared_ptr<Numbered> images) {
  return {.name = "numbered",
          .classes = 256,
          .channels = 1,
          .side = 9,
          .framing = Framing::kPadAndCrop,
          .mean = {0.5},
          .deviation = {0.25},
          .train = images,
          .test = images};
}

TEST(LoaderTest, ABatchIsFloat32AndChannelsLast) {
  const auto batches = epoch_of(small_set(), {.batch = 8}, 0);
  ASSERT_EQ(batches.size(), 6u) << "the last, smaller batch is left out";
  for (const auto& batch : batches) {
    EXPECT_EQ(batch.images.sizes(), (std::vector<int64_t>{8, 3, 12, 12}));
    EXPECT_EQ(batch.images.scalar_type(), torch::kFloat32);
    EXPECT_TRUE(batch.images.is_contiguous(torch::MemoryFormat::ChannelsLast));
    EXPECT_EQ(batch.labels.scalar_type(), torch::kInt64);
  }
}

TEST(LoaderTest, EvaluationGivesEveryImageInOrderAndNormalized) {
  const DataSet set = small_set();
  const auto batches = epoch_of(set, {.batch = 8, .training = false}, 0);
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches.back().images.size(0), 5);
  for (int64_t i = 0; i < set.test->size(); ++i) {
    const Batch& batch = batches[static_cast<size_t>(i / 8)];
    EXPECT_EQ(batch.labels[i % 8].item<int64_t>(), set.test->label(i));
    const auto image = set.test->image(i, 12);
    for (int64_t at : {0, 5, 143}) {
      for (int64_t c = 0; c < 3; ++c) {
        const double value = image->bytes[static_cast<size_t>(at * 3 + c)] / 255.0;
        const auto channel = static_cast<size_t>(c);
        EXPECT_NEAR(batch.images[i % 8][c][at / 12][at % 12].item<double>(),
                    (value - set.mean[channel]) / set.deviation[channel], 1e-5);
      }
    }
  }
}

TEST(LoaderTest, TheNumberOfWorkersAndOfBatchesAheadChangesNothing) {
  const DataSet set = small_set();
  const auto one = epoch_of(set, {.batch = 8, .workers = 1, .ahead = 1, .seed = 7}, 3);
  expect_equal(one, epoch_of(set, {.batch = 8, .workers = 4, .seed = 7}, 3));
  expect_equal(one, epoch_of(set, {.batch = 8, .workers = 4, .ahead = 100, .seed = 7}, 3));
}

TEST(LoaderTest, AnEpochCanBeginAtAnyStepAndAgain) {
  const DataSet set = small_set();
  const LoaderOptions options{.batch = 8, .workers = 2, .ahead = 3, .seed = 7};
  const auto whole = epoch_of(set, options, 2);
  Loader loader(set, options);
  for (int64_t first = 6; first >= 0; --first) {
    loader.begin(1);
    loader.next();  // left in the middle
    loader.begin(2, first);
    expect_equal(rest_of(loader), {whole.begin() + first, whole.end()});
    EXPECT_FALSE(loader.next().has_value());
  }
}

/// The batches of all ranks, each put together again.
std::vector<Batch> joined_shares(const DataSet& set, LoaderOptions options, int ranks) {
  std::vector<Batch> whole;
  for (int rank = 0; rank < ranks; ++rank) {
    options.rank = rank;
    options.ranks = ranks;
    const auto shares = epoch_of(set, options, /*epoch=*/2);
    whole.resize(shares.size());
    for (size_t i = 0; i < shares.size(); ++i) {
      const bool first = !whole[i].images.defined();
      whole[i].images = first ? shares[i].images : torch::cat({whole[i].images, shares[i].images});
      whole[i].labels = first ? shares[i].labels : torch::cat({whole[i].labels, shares[i].labels});
    }
  }
  return whole;
}

TEST(LoaderTest, TheSharesOfAllRanksAreTheBatchOfOne) {
  const DataSet set = small_set();
  for (const bool training : {true, false}) {
    const LoaderOptions options{.batch = 8, .seed = 7, .training = training};
    const auto one = epoch_of(set, options, 2);
    for (const int ranks : {1, 2, 3, 5, 8}) expect_equal(joined_shares(set, options, ranks), one);
  }
}

TEST(LoaderTest, SharesDifferByOneRowAtMostAndMayBeEmptyAtTheEnd) {
  const DataSet set = small_set();
  for (int rank = 0; rank < 8; ++rank) {
    const auto shares = epoch_of(set, {.batch = 8, .training = false, .rank = rank, .ranks = 8}, 0);
    ASSERT_EQ(shares.size(), 3u);
    EXPECT_EQ(shares.front().images.size(0), 1);
    EXPECT_LE(shares.back().images.size(0), 1) << "5 rows for 8 ranks";
    EXPECT_EQ(shares.back().images.size(0), shares.back().labels.size(0));
  }
  for (int rank = 0; rank < 3; ++rank) {
    const int64_t rows = epoch_of(set, {.batch = 8, .rank = rank, .ranks = 3}, 0).front().images.size(0);
    EXPECT_TRUE(rows == 2 || rows == 3) << rows;
  }
}

TEST(LoaderTest, SeedsAndEpochsGiveOtherOrdersAndOtherAugmentation) {
  const DataSet set = small_set();
  const auto first = epoch_of(set, {.batch = 53, .seed = 1}, 0)[0];
  const auto epoch = epoch_of(set, {.batch = 53, .seed = 1}, 1)[0];
  const auto seed = epoch_of(set, {.batch = 53, .seed = 2}, 0)[0];
  EXPECT_FALSE(first.labels.equal(epoch.labels));
  EXPECT_FALSE(first.labels.equal(seed.labels));
  const auto numbers = std::make_shared<Numbered>(200);
  std::map<int64_t, std::set<double>> sums;  // of one image: it changes with the window
  for (int64_t i = 0; i < 20; ++i) {
    const auto batch = epoch_of(numbered(numbers), {.batch = 200}, i)[0];
    for (int64_t row = 0; row < 200; ++row) {
      sums[batch.labels[row].item<int64_t>()].insert(batch.images[row].sum().item<double>());
    }
  }
  for (const auto& [index, different] : sums) EXPECT_GT(different.size(), 5u) << index;
}

TEST(LoaderTest, AnEpochHasEveryImageOnceWithItsOwnLabel) {
  Loader loader(numbered(std::make_shared<Numbered>(200)), {.batch = 10, .workers = 3});
  loader.begin(0);
  std::set<int64_t> seen;
  for (const auto& batch : rest_of(loader)) {
    for (int64_t row = 0; row < 10; ++row) {
      const int64_t label = batch.labels[row].item<int64_t>();
      seen.insert(label);
      // The centre is inside the image wherever the window is.
      EXPECT_NEAR(batch.images[row][0][4][4].item<double>(), (static_cast<double>(label) / 255 - 0.5) / 0.25, 1e-5);
    }
  }
  EXPECT_EQ(seen.size(), 200u);
}

TEST(LoaderTest, AnImageThatIsMissingIsCountedWhenItsBatchIsHandedOut) {
  auto images = std::make_shared<Numbered>(40);
  images->missing = 30;
  Loader loader(numbered(images), {.batch = 10, .workers = 2, .training = false});
  loader.begin(0);
  for (int64_t step = 0; step < 4; ++step) {
    const auto batch = loader.next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(loader.skipped(), step == 3 ? 1 : 0);
    if (step == 3) {
      EXPECT_EQ(batch->labels[0].item<int64_t>(), 31);
    }
  }
  loader.begin(1);
  EXPECT_EQ(loader.skipped(), 0);
}

TEST(LoaderTest, WhatAWorkerThrowsComesOutOfNextInItsPlace) {
  auto images = std::make_shared<Numbered>(40);
  images->fails_at = 30;
  Loader loader(numbered(images), {.batch = 10, .workers = 4, .training = false});
  loader.begin(0);
  for (int64_t step = 0; step < 3; ++step) EXPECT_TRUE(loader.next().has_value());
  expect_error([&] { loader.next(); }, {"image fails"});
  images->fails_at = -1;
  loader.begin(0);
  EXPECT_EQ(rest_of(loader).size(), 4u);
}

TEST(LoaderTest, WaitingIsCountedFromBegin) {
  auto images = std::make_shared<Numbered>(10);
  images->slow = true;
  Loader loader(numbered(images), {.batch = 10});
  loader.begin(0);
  loader.next();
  EXPECT_GT(loader.waited_seconds(), 0);
  loader.begin(1);
  EXPECT_EQ(loader.waited_seconds(), 0);
}

TEST(LoaderTest, EndsWithoutMakingWhatNobodyWillTake) {
  auto images = std::make_shared<Numbered>(250);
  images->slow = true;
  {
    Loader loader(numbered(images), {.batch = 250, .workers = 2});
    loader.begin(0);
    while (images->asked == 0) std::this_thread::yield();
    const int64_t before = images->asked;
    loader.begin(1);
    EXPECT_LE(images->asked, before + 50) << "begin() gives up the epoch before";
  }
  EXPECT_LT(images->asked, 150) << "the destructor gives up the batch";
}

TEST(LoaderTest, WithoutBeginThereIsNothing) {
  Loader loader(small_set(), {.batch = 8});
  EXPECT_EQ(loader.steps(), 6);
  EXPECT_FALSE(loader.next().has_value());
}

TEST(LoaderTest, WrongOptionsAreErrors) {
  const DataSet set = small_set();
  expect_error([&] { Loader(set, {.batch = 0}); }, {"1 or more"});
  expect_error([&] { Loader(set, {.workers = 0}); }, {"1 or more"});
  expect_error([&] { Loader(set, {.batch = 3, .ranks = 4}); }, {"a batch of 3 images", "4 processes"});
  expect_error([&] { Loader(set, {.rank = 4, .ranks = 4}); }, {"a rank from 0 to 3, got 4"});
  expect_error([&] { Loader(set, {.batch = 54}); }, {"at least 54 images", "found 53"});
  EXPECT_EQ(Loader(set, {.batch = 54, .training = false}).steps(), 1);
  Loader loader(set, {.batch = 8});
  expect_error([&] { loader.begin(0, 7); }, {"from 0 to 6, got 7"});
}

TEST(LoaderTest, AnImageThatDoesNotFitTheSetIsAnError) {
  DataSet set = numbered(std::make_shared<Numbered>(20));
  set.side = 10;
  Loader loader(set, {.batch = 10});
  loader.begin(0);
  expect_error([&] { loader.next(); }, {"an image of 10 x 10 with 1 channels, found 9 x 9"});
}

}  // namespace
}  // namespace samplenorm::data
