#include "data/synthetic.h"

#include "data/statistics.h"
#include "data/testing.h"

namespace samplenorm::data {
namespace {

std::vector<double> mean_colour(const Image& image) {
  std::vector<double> sums(static_cast<size_t>(image.channels));
  for (size_t i = 0; i < image.bytes.size(); ++i) sums[i % sums.size()] += image.bytes[i];
  for (double& sum : sums) sum /= static_cast<double>(image.height * image.width);
  return sums;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

TEST(SyntheticTest, TheNearestMeanColourTellsTheClassesOfUnseenImages) {
  const DataSet set = make_synthetic({});
  std::vector<std::vector<double>> centres(10, std::vector<double>(3));
  const auto counts = class_counts(*set.train, 10);
  for (int64_t i = 0; i < set.train->size(); ++i) {
    const auto colour = mean_colour(*set.train->image(i, 0));
    const auto label = static_cast<size_t>(set.train->label(i));
    for (size_t c = 0; c < 3; ++c) centres[label][c] += colour[c] / static_cast<double>(counts[label]);
  }
  int64_t right = 0;
  for (int64_t i = 0; i < set.test->size(); ++i) {
    const auto colour = mean_colour(*set.test->image(i, 0));
    size_t nearest = 0;
    for (size_t label = 1; label < 10; ++label) {
      if (distance(colour, centres[label]) < distance(colour, centres[nearest])) nearest = label;
    }
    right += static_cast<int64_t>(nearest) == set.test->label(i);
  }
  EXPECT_GT(right, set.test->size() * 9 / 10);
}

TEST(SyntheticTest, SizesAreAsAskedForAndSeedsDiffer) {
  const SyntheticOptions options{.train = 7, .test = 5, .classes = 2, .channels = 1, .side = 9, .seed = 3};
  const DataSet set = make_synthetic(options);
  EXPECT_EQ(set.train->size(), 7);
  EXPECT_EQ(set.test->size(), 5);
  EXPECT_EQ(set.mean.size(), 1u);
  EXPECT_EQ(set.train->image(6, 0)->bytes.size(), 81u);
  EXPECT_EQ(half_digest(*set.train), half_digest(*make_synthetic(options).train));
  SyntheticOptions other = options;
  other.seed = 4;
  EXPECT_NE(half_digest(*set.train), half_digest(*make_synthetic(other).train));
  EXPECT_NE(set.train->image(0, 0)->bytes, set.test->image(0, 0)->bytes);
  expect_error([] { make_synthetic({.train = 0}); }, {"positive sizes"});
  expect_error([] { make_synthetic({.classes = 257}); }, {"at most 256"});
}

}  // namespace
}  // namespace samplenorm::data
