// Plans are remembered, in bounds.

#include "nn/plan.h"

#include "nn/testing.h"

namespace samplenorm {
namespace {

/// Of a layer whose sample has 16,384 points, at an epoch.
std::shared_ptr<const Plan> large_plan(uint64_t layer, uint64_t epoch) {
  return find_plan({64, 3, 32, 32}, "FS-1/4", {.seed = 77, .layer = layer, .epoch = epoch}, false);
}

TEST(Plan, IsTheSameForTheSameArgumentsAndAnotherForOthers) {
  const Key key = {.seed = 5, .layer = 6, .epoch = 7, .step = 8, .rank = 1, .ranks = 3};
  const auto find = [](const std::string& notation, at::IntArrayRef sizes, const Key& of, bool sync) {
    return find_plan(sizes, notation, of, sync);
  };
  const std::vector<int64_t> sizes = {8, 3, 4, 4};
  const auto plan = find("BS-1/2", sizes, key, false);
  EXPECT_EQ(find("BS-1/2", sizes, key, false), plan);

  EXPECT_NE(find("BS-1/4", sizes, key, false), plan);
  EXPECT_NE(find("BS-1/2", sizes, key, true), plan);
  for (const std::vector<int64_t>& other :
       {std::vector<int64_t>{8, 3, 4, 5}, {8, 3, 16}, {8, 3, 4, 4, 1}, {3, 8, 4, 4}})
    EXPECT_NE(find("BS-1/2", other, key, false), plan);
  for (uint64_t Key::*number : {&Key::seed, &Key::layer, &Key::epoch, &Key::rank, &Key::ranks}) {
    Key other = key;
    other.*number += 1;
    EXPECT_NE(find("BS-1/2", sizes, other, false), plan);
  }
  Key later = key;
  later.step = 9;
  EXPECT_EQ(find("BS-1/2", sizes, later, false), plan);
  EXPECT_NE(find("BS-1/2;redraw=step", sizes, later, false), find("BS-1/2;redraw=step", sizes, key, false));
}

TEST(PlanCache, NeverMakesThePlansOfANetworkOf400LayersTwice) {
  std::vector<std::shared_ptr<const Plan>> plans;
  for (uint64_t layer = 0; layer < 400; ++layer) plans.push_back(large_plan(layer, 1000));
  EXPECT_GT(plans_in_memory().points, 400 * 16384);
  for (int step = 0; step < 3; ++step)
    for (uint64_t layer = 0; layer < 400; ++layer) ASSERT_EQ(large_plan(layer, 1000), plans[layer]) << layer;
}

TEST(PlanCache, ForgetsThePlansThatWereNotAskedForTheLongest) {
  const auto first = large_plan(0, 0), in_use = large_plan(1, 0);
  EXPECT_EQ(first->counts, std::vector<int64_t>{16384});
  std::shared_ptr<const Plan> newest;
  for (uint64_t epoch = 1; epoch <= 1000; ++epoch) {
    newest = large_plan(0, epoch);
    ASSERT_EQ(large_plan(1, 0), in_use) << epoch;
    ASSERT_LE(plans_in_memory().points, 600 * 16384) << epoch;
  }
  EXPECT_EQ(large_plan(0, 1000), newest);
  EXPECT_NE(large_plan(0, 0), first);
}

TEST(PlanCache, OfSmallPlansHasABoundToo) {
  for (uint64_t epoch = 0; epoch < 70000; ++epoch) find_plan({4, 3}, "BS-1/2", {.seed = 78, .epoch = epoch}, false);
  const PlanUse use = plans_in_memory();
  EXPECT_LT(use.plans, 70000U);
  EXPECT_GT(use.plans, 10000U);
  EXPECT_LE(use.points, 1 << 22);
}

TEST(Plan, OfAnInputOfTooFewOrTooManyDimensionsIsAnError) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{}, {4}, {4, 3, 2, 2, 2, 2}})
    EXPECT_THROW(find_plan(sizes, "BN", {}, false), c10::Error);
  EXPECT_THROW(find_plan({8, 3}, "BN;stat_batch=4", {}, true), c10::ValueError);
}

}  // namespace
}  // namespace samplenorm
