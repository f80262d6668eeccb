#include "bench/worker_model.h"

#include <gtest/gtest.h>

namespace samplenorm::bench {
namespace {

constexpr Wire kWire{.latency_seconds = 1e-3, .bytes_per_second = 1e6};

TEST(WorkerModel, OfOneWorkerWaitsForNothing) {
  EXPECT_EQ(waiting_seconds({.reductions = 5, .reduced_bytes = 1000}, 1, kWire), 0);
}

TEST(WorkerModel, ReducesInAsManyExchangesAsWorkersDouble) {
  const StatisticsCalls calls{.reductions = 10, .reduced_bytes = 2000};
  const double once = 10 * 1e-3 + 2000 / 1e6;
  EXPECT_DOUBLE_EQ(waiting_seconds(calls, 2, kWire), once);
  EXPECT_DOUBLE_EQ(waiting_seconds(calls, 64, kWire), 6 * once);
  EXPECT_DOUBLE_EQ(waiting_seconds(calls, 65, kWire), 7 * once);
}

TEST(WorkerModel, BroadcastsAlongATreeBehindTheContributorsMessages) {
  StatisticsCalls calls{.broadcasts = 10, .broadcast_bytes = 2000};
  const double tree = 6 * (10 * 1e-3 + 2000 / 1e6);
  EXPECT_DOUBLE_EQ(waiting_seconds(calls, 64, kWire), tree);
  calls.contributors = 32;
  EXPECT_DOUBLE_EQ(waiting_seconds(calls, 64, kWire), tree + 10 * 1e-3 + 31 * 2000 / 1e6);
}

}  // namespace
}  // namespace samplenorm::bench
