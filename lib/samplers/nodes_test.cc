#include "samplers/nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "samplers/testing.h"

namespace samplenorm {
namespace {

const Shape kSmallShape = {0, 8, 1, 6, 6};

std::vector<int> up_to(int ranks) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  return all;
}

TEST(Nodes, AreAPartOfTheProcessesOrANumberOfThemAndAtLeastOne) {
  EXPECT_EQ(Nodes{}.among(7), 7);
  EXPECT_EQ((Nodes{1, 4}).among(8), 2);
  EXPECT_EQ((Nodes{1, 4}).among(7), 2);
  EXPECT_EQ((Nodes{1, 4}).among(2), 1);
  EXPECT_EQ((Nodes{1, 64}).among(4), 1);
  EXPECT_EQ((Nodes{3, 0}).among(8), 3);
  EXPECT_EQ((Nodes{3, 0}).among(2), 2);
}

TEST(Nodes, WithoutTheOptionAreAllProcesses) {
  for (const std::string notation : {"BN", "BS-4/128", "FS-1/64", "LS-1/64", "VDN-2/128", "FS-1/64+VDN-2/128"})
    EXPECT_EQ(contributors(parse(notation), {.ranks = 5}), up_to(5)) << notation;
}

TEST(Nodes, OfAMixAreLimitedForTheMethodsThatTheyAreEnoughFor) {
  EXPECT_EQ(contributors(parse("FS-1/64+VDN-2/128;nodes=1"), {.ranks = 5}), up_to(5));
  EXPECT_EQ(contributors(parse("VDN-2/128;nodes=2"), {.ranks = 5}).size(), 2U);
  const size_t both = contributors(parse("BS-4/128+VDN-2/128;nodes=2"), {.ranks = 50}).size();
  EXPECT_GE(both, 2U);
  EXPECT_LE(both, 4U);
}

TEST(Nodes, OfBatchSamplingAreDrawnAnewInEachEpochAndLayerAndComeAllEquallyOften) {
  const Spec spec = parse("BS-4/128;nodes=1/4");
  std::map<int, int> times;
  std::set<std::vector<int>> seen;
  for (uint64_t epoch = 0; epoch < 20; ++epoch)
    for (uint64_t layer = 0; layer < 20; ++layer) {
      const std::vector<int> ranks = contributors(spec, {.seed = 3, .layer = layer, .epoch = epoch, .ranks = 8});
      ASSERT_EQ(ranks.size(), 2U);
      EXPECT_LT(ranks[0], ranks[1]);
      seen.insert(ranks);
      for (const int rank : ranks) ++times[rank];
    }
  EXPECT_EQ(seen.size(), 28U);  // all pairs
  for (const auto& [rank, count] : times) EXPECT_NEAR(count, 100, 40) << rank;
}

TEST(Nodes, ThatCarryVirtualRowsAreTheSameInAllLayersAndOthersInOtherEpochs) {
  const Spec spec = parse("VDN-2/128;nodes=1");
  std::set<int> carriers;
  for (uint64_t epoch = 0; epoch < 30; ++epoch) {
    const std::vector<int> ranks = contributors(spec, {.layer = 0, .epoch = epoch, .ranks = 6});
    for (uint64_t layer = 1; layer < 5; ++layer)
      EXPECT_EQ(contributors(spec, {.layer = layer, .epoch = epoch, .ranks = 6}), ranks);
    for (uint64_t rank = 0; rank < 6; ++rank)
      EXPECT_EQ(carries_virtual_rows(spec.nodes, {.epoch = epoch, .rank = rank, .ranks = 6}),
                static_cast<int>(rank) == ranks[0]);
    carriers.insert(ranks[0]);
  }
  EXPECT_EQ(carriers.size(), 6U);
}

TEST(Nodes, ThatDoNotContributeDrawAnEmptyGroup) {
  const Spec spec = parse("BS-2/8;nodes=1");
  int with_rows = 0;
  for (uint64_t rank = 0; rank < 4; ++rank) {
    const Sample sample = draw(spec, kSmallShape, {.rank = rank, .ranks = 4});
    ASSERT_EQ(sample.groups.size(), 1U);
    with_rows += sample.groups[0].points() == 2 * 36;
    EXPECT_TRUE(sample.groups[0].points() == 0 || sample.groups[0].points() == 2 * 36);
  }
  EXPECT_EQ(with_rows, 1);
}

TEST(Nodes, WithoutRowsDrawAnEmptyGroupInsteadOfAnError) {
  const Shape nothing = {0, 0, 1, 6, 6};
  for (const std::string notation : {"BN", "NS-1/2", "BS-1/2", "FS-1/2", "LS-1/2", "LS-1/2;least=1", "FRS-1/2"})
    EXPECT_EQ(draw(parse(notation), nothing, {.rank = 1, .ranks = 2}).groups.at(0).points(), 0) << notation;
  EXPECT_EQ(draw(parse("FS-1/4+VDN-2/128"), kSmallShape, {.rank = 1, .ranks = 2}).groups.at(1).points(), 0);
}

TEST(Nodes, AddTheSamePatchEachAndGoOnWithTheLatticeWhereTheRankBeforeEnded) {
  const Shape half = {0, 4, 1, 6, 6}, whole = {0, 8, 1, 6, 6};
  Shape second = half;
  second.first_row = 4;
  const auto points = [](const std::string& notation, const Shape& shape, uint64_t rank, int64_t first_row) {
    std::vector<Point> all = points_of(group_of(notation, shape, {.seed = 5, .rank = rank, .ranks = 2}));
    for (Point& point : all) point[0] += first_row;
    return all;
  };
  for (const std::string notation : {"BN", "FS-1/4", "LS-1/6;least=1", "LS-1/36;least=40"}) {
    std::vector<Point> pooled = points(notation, half, 0, 0);
    for (const Point& point : points(notation, second, 1, 4)) pooled.push_back(point);
    std::vector<Point> expected = points_of(group_of(notation, whole, {.seed = 5}));
    std::ranges::sort(pooled);
    std::ranges::sort(expected);
    EXPECT_EQ(pooled, expected) << notation;
  }
}

}  // namespace
}  // namespace samplenorm
