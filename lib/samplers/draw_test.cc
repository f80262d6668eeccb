// What holds for all methods: draws depend on their key and on nothing else, and stay inside the shape.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "samplers/testing.h"

namespace samplenorm {
namespace {

const Shape kShape = {2, 128, 1, 32, 32};

/// How many different samples there are among those of `count` keys that key_of makes.
template <class KeyOf>
size_t different(const std::string& notation, KeyOf key_of, uint64_t count = 30) {
  std::vector<Sample> seen;
  for (uint64_t i = 0; i < count; ++i) {
    const Sample sample = draw(parse(notation), kShape, key_of(i));
    if (std::find(seen.begin(), seen.end(), sample) == seen.end()) seen.push_back(sample);
  }
  return seen.size();
}

constexpr size_t kMany = 20;  // of 30; with 125 places or more some may be equal by chance

Key of_seed(uint64_t i) { return {.seed = i}; }
Key of_layer(uint64_t i) { return {.layer = i}; }
Key of_epoch(uint64_t i) { return {.epoch = i}; }
Key of_step(uint64_t i) { return {.step = i}; }
Key of_chunk(uint64_t i) { return {.chunk = i}; }

const std::string kDrawing[] = {"BS-4/128", "FS-1/64", "LS-1/64", "FRS-1/1024"};

TEST(Draw, DiffersBetweenSeedsLayersAndChunksHoweverItIsRedrawn) {
  for (const std::string& method : kDrawing)
    for (const std::string redraw : {"epoch", "step", "never"}) {
      const std::string notation = method + ";redraw=" + redraw;
      EXPECT_GE(different(notation, of_seed), kMany) << notation;
      EXPECT_GE(different(notation, of_layer), kMany) << notation;
      EXPECT_GE(different(notation, of_chunk), kMany) << notation;
    }
}

TEST(Draw, PerEpochDiffersBetweenEpochsAndKeepsForAllSteps) {
  for (const std::string& method : kDrawing) {
    EXPECT_GE(different(method, of_epoch), kMany) << method;
    EXPECT_EQ(different(method, of_step), 1U) << method;
  }
}

TEST(Draw, PerStepDiffersBetweenStepsAlone) {
  for (const std::string& method : kDrawing) {
    EXPECT_GE(different(method + ";redraw=step", of_step), kMany) << method;
    EXPECT_EQ(different(method + ";redraw=step", of_epoch), 1U) << method;
  }
}

TEST(Draw, PerStepAndPerEpochShareNoNumbers) {
  size_t equal = 0;
  for (uint64_t i = 0; i < 100; ++i)
    equal += draw(parse("LS-1/64"), kShape, {.epoch = i}) == draw(parse("LS-1/64;redraw=step"), kShape, {.step = i});
  EXPECT_EQ(equal, 0U);
}

TEST(Draw, WithoutRedrawingStaysForEver) {
  for (const std::string& method : kDrawing) {
    EXPECT_EQ(different(method + ";redraw=never", of_epoch), 1U) << method;
    EXPECT_EQ(different(method + ";redraw=never", of_step), 1U) << method;
  }
}

TEST(Draw, IsTheSameInAnyOrderOfCallsAndFromAnyThread) {
  constexpr uint64_t kCount = 400;
  const auto sample = [](uint64_t i) { return draw(parse(kDrawing[i % 4]), kShape, {.layer = i / 4, .epoch = 1}); };
  std::vector<Sample> expected(kCount);
  for (uint64_t i = kCount; i-- > 0;) expected[i] = sample(i);

  std::vector<std::vector<Sample>> results(4, std::vector<Sample>(kCount));
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < results.size(); ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kCount; ++i) results[t][(i * 7 + t) % kCount] = sample((i * 7 + t) % kCount);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST(Draw, StaysTheSameFromVersionToVersion) {
  const Key key = {1, 2, 3, 4, 5};
  const Shape deep = {0, 8, 6, 8, 8};
  EXPECT_EQ(box_of("BS-4/128", kShape, key).rows, (Range{82, 86}));
  EXPECT_EQ(box_of("FS-1/64", kShape, key), (Box{{2, 130}, {0, 1}, {16, 20}, {6, 10}}));
  EXPECT_EQ(box_of("FS-1/96", deep, key), (Box{{0, 8}, {0, 2}, {1, 2}, {3, 5}}));
  EXPECT_EQ(group_of("LS-1/64", kShape, key).boxes[0], (Box{{2, 130, 64}, {0, 1}, {6, 32, 8}, {6, 32, 8}}));
  EXPECT_EQ(group_of("LS-1/4;redraw=step;least=1", deep, key).boxes[1], (Box{{1, 8, 4}, {0, 6, 2}, {0, 8}, {0, 8, 2}}));
  EXPECT_EQ(points_of(group_of("FRS-1/1024", kShape, key))[0], (Point{74, 0, 15, 22}));
}

TEST(Draw, OfAMixHasTheRealGroupThenTheVirtualOneWithWeightsThatAddUpToOne) {
  for (const std::string real : {"NS-4/128", "BS-4/128", "FS-1/64", "LS-1/64"}) {
    const Sample mix = draw(parse("VDN-2/128+" + real + ";beta=0.3"), kShape, {});
    ASSERT_EQ(mix.groups.size(), 2U);
    EXPECT_DOUBLE_EQ(mix.groups[0].weight, 0.7);
    EXPECT_DOUBLE_EQ(mix.groups[1].weight, 0.3);
    EXPECT_EQ(mix.groups[0].weight + mix.groups[1].weight, 1);
    EXPECT_EQ(mix.groups[0].boxes, group_of(real, kShape).boxes);
    EXPECT_EQ(mix.groups[1].boxes, group_of("VDN-2/128", kShape).boxes);
  }
}

TEST(Draw, OfAMixLeavesOutAGroupWithoutWeight) {
  EXPECT_EQ(draw(parse("LS-1/64+VDN-2/128;beta=0"), kShape, {}), draw(parse("LS-1/64"), kShape, {}));
  EXPECT_EQ(draw(parse("LS-1/64+VDN-2/128;beta=1"), kShape, {}), draw(parse("VDN-2/128"), kShape, {}));
}

TEST(Draw, SampledFractionCountsThePointsOfAllGroups) {
  const Sample mix = draw(parse("FS-1/64+VDN-2/128"), kShape, {});
  EXPECT_DOUBLE_EQ(sampled_fraction(mix, kShape), (128 * 16 + 2 * 1024) / (130 * 1024.0));
}

TEST(Draw, NeverHasMorePointsThanMostPointsSaysAndSometimesAsMany) {
  const Shape shapes[] = {{0, 1, 1, 5, 7}, {2, 5, 1, 5, 7}, {2, 9, 3, 4, 5}, {1, 7, 1, 1, 1}, {2, 8, 1, 14, 14}};
  for (const Shape& shape : shapes)
    for (const std::string notation :
         {"BN", "NS-1/4", "BS-1/4", "FS-1/4", "LS-1/4;least=1", "LS-1/64;least=1", "LS-1/64", "FRS-1/3", "VDN-2/8",
          "FS-1/4+VDN-2/8", "LS-1/4+VDN-2/8;least=1", "LS-1/4+VDN-2/8;beta=0;least=1"}) {
      const Spec spec = parse(notation);
      if (spec.virtual_rows() > 0 && shape.virtual_rows == 0) continue;
      int64_t most = 0;
      for (uint64_t epoch = 0; epoch < 300; ++epoch) {
        int64_t points = 0;
        for (const Group& group : draw(spec, shape, {.epoch = epoch}).groups) points += group.points();
        most = std::max(most, points);
      }
      const int64_t bound = most_points(spec, shape);
      EXPECT_LE(most, bound) << notation;
      // Several rows left over from whole rounds of a lattice cannot all have the best offset.
      const bool one_row = shape.rows == 1 || shape.map_points() == 1;
      if (notation.find("LS") == std::string::npos || one_row) {
        EXPECT_EQ(most, bound) << notation;
      }
    }
}

TEST(Draw, OfASpecThatNobodyParsedWithAnUnknownMethodIsAnError) {
  Spec spec;
  spec.methods = {{"XX", {1, 2}}};
  EXPECT_THROW(draw(spec, {.rows = 4}, {}), Error);
  EXPECT_THROW(to_string(spec), Error);
}

TEST(Draw, FromNothingIsAnError) {
  for (const std::string notation : {"BN", "NS-1/2", "BS-1/2", "FS-1/2", "LS-1/2", "VDN-2/128", "FRS-1/2"}) {
    EXPECT_THROW(draw(parse(notation), {2, 0, 1, 4, 4}, {}), Error) << notation;
    EXPECT_THROW(draw(parse(notation), {2, 4, 1, 0, 4}, {}), Error) << notation;
    EXPECT_THROW(draw(parse(notation), {2, 4, 1, 4, 0}, {}), Error) << notation;
  }
}

bool inside(Range range, int64_t begin, int64_t end) {
  return range.step >= 1 && range.size() >= 1 && range.begin >= begin &&
         range.begin + range.step * (range.size() - 1) < end;
}

TEST(Draw, StaysInsideAnyShapeAndSamplesVirtualRowsOnlyByVDNAndBN) {
  std::mt19937_64 random(1);
  const auto up_to = [&](uint64_t most) { return static_cast<int64_t>(1 + random() % most); };
  const std::string ratios[] = {"-1/1", "-1/2", "-3/5", "-1/7", "-1/64", "-5/128", "-1/100000"};
  for (int trial = 0; trial < 1000; ++trial) {
    const Shape shape = {up_to(4), up_to(70), up_to(2) == 1 ? 1 : up_to(6), up_to(20), up_to(20)};
    for (const std::string name : {"BN", "NS", "BS", "FS", "LS", "VDN", "FRS"}) {
      std::string notation = name == "BN" ? name : name + ratios[random() % std::size(ratios)];
      if (name == "LS") notation += ";least=1";
      const Key key = {random(), random(), random(), random(), random()};
      const Group group = group_of(notation, shape, key);
      const bool virtual_only = name == "VDN";
      // One virtual row of one point has a real row with it.
      const int64_t last_virtual =
          std::max(shape.virtual_rows, shape.virtual_rows * shape.map_points() == 1 ? int64_t{2} : 0);
      const bool real_only = !virtual_only && name != "BN";
      ASSERT_FALSE(group.boxes.empty()) << notation;
      for (const Box& box : group.boxes) {
        ASSERT_TRUE(
            inside(box.rows, real_only ? shape.virtual_rows : 0, virtual_only ? last_virtual : shape.all_rows()))
            << notation;
        ASSERT_TRUE(inside(box.depths, 0, shape.depth)) << notation;
        ASSERT_TRUE(inside(box.heights, 0, shape.height)) << notation;
        ASSERT_TRUE(inside(box.widths, 0, shape.width)) << notation;
      }
    }
  }
}

}  // namespace
}  // namespace samplenorm
