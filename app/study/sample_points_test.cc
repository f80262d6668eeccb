#include "study/sample_points.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "samplenorm/notation.h"
#include "study/places.h"

namespace samplenorm::study {
namespace {

TEST(SamplePoints, AreThoseOfTheBoxesInOrder) {
  const Shape shape{.virtual_rows = 0, .rows = 2, .depth = 1, .height = 3, .width = 4};
  const Group group{1, {{{1, 2}, {0, 1}, {0, 3, 2}, {1, 4, 2}}, {{0, 1}, {0, 1}, {2, 3}, {0, 1}}}};
  EXPECT_EQ(points_of(group, shape), (std::vector<int64_t>{8, 13, 15, 21, 23}));
}

TEST(SampleStatistics, OfAllPointsAreThoseOfTheTensor) {
  torch::manual_seed(1);
  const auto x = torch::randn({4, 3, 5, 6}).contiguous(torch::MemoryFormat::ChannelsLast);
  const Shape shape{.virtual_rows = 0, .rows = 4, .depth = 1, .height = 5, .width = 6};
  const auto statistics = statistics_of(x, draw(parse("BN"), shape, {}), shape);
  EXPECT_TRUE(torch::allclose(statistics.mean, x.mean({0, 2, 3}).to(torch::kDouble), 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(statistics.variance, x.var({0, 2, 3}, false).to(torch::kDouble), 1e-5, 1e-6));
}

TEST(SampleStatistics, OfGroupsAreWeighted) {
  const auto x = torch::tensor({1.0, 3.0, 10.0, 10.0}).view({4, 1, 1, 1});
  const Shape shape{.virtual_rows = 0, .rows = 4};
  const Sample sample{{{0.25, {shape.all_points_of({0, 2})}}, {0.75, {shape.all_points_of({2, 4})}}}};
  const auto statistics = statistics_of(x, sample, shape);
  EXPECT_DOUBLE_EQ(statistics.mean.item<double>(), 0.25 * 2 + 0.75 * 10);
  EXPECT_DOUBLE_EQ(statistics.variance.item<double>(), 0.25 * 1);
}

TEST(Places, GatherWhatTheSampleSaysInBothMemoryFormats) {
  torch::manual_seed(2);
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast})
    for (const char* norm : {"FS-1/4", "LS-1/4;least=1", "FRS-1/4"}) {
      const auto x = torch::randn({3, 5, 8, 6}).contiguous(format);
      const auto shared = gather_statistics(x, draw_places({"", norm, false, false}, x.sizes(), 7));
      const auto own = gather_statistics(x, draw_places({"", norm, true, false}, x.sizes(), 7));
      const Shape shape{.virtual_rows = 0, .rows = 3, .depth = 1, .height = 8, .width = 6};
      for (int64_t c = 0; c < 5; ++c) {
        const auto check = [&](const PlaceStatistics& found, uint64_t layer) {
          const auto sample = draw(parse(norm), shape, {.seed = 1, .layer = layer, .epoch = 7});
          const auto expected = statistics_of(x.narrow(1, c, 1), sample, shape);
          EXPECT_NEAR(found.mean[static_cast<size_t>(c)], expected.mean.item<double>(), 1e-5) << norm;
          EXPECT_NEAR(found.variance[static_cast<size_t>(c)], expected.variance.item<double>(), 1e-5) << norm;
        };
        check(shared, 0);
        check(own, static_cast<uint64_t>(c));
      }
    }
}

TEST(Places, OfEveryChannelAreOthersAndOfEveryStepToo) {
  const PlacesOptions options{"scattered", "FRS-1/16", true, true};
  const auto places = draw_places(options, {4, 3, 16, 16}, 0);
  ASSERT_EQ(places.lists.size(), 3u);
  EXPECT_NE(places.lists[0], places.lists[1]);
  EXPECT_NE(places.lists[0], draw_places(options, {4, 3, 16, 16}, 1).lists[0]);
}

}  // namespace
}  // namespace samplenorm::study
