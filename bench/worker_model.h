#pragma once

// What pooled statistics would cost with many workers: a small model, fed with counts that were measured.

#include <cstdint>

namespace samplenorm::bench {

/// What lies between two workers.
struct Wire {
  double latency_seconds = 20e-6;
  double bytes_per_second = 1.25e9;  ///< 10 Gbit/s
};

/// A step's collectives for statistics, as one worker sees them: all of the same kind have buffers of about one size.
struct StatisticsCalls {
  int64_t reductions = 0;     ///< of all workers' values
  int64_t reduced_bytes = 0;  ///< in all of them
  int64_t broadcasts = 0;     ///< of values that a few workers contribute
  int64_t broadcast_bytes = 0;
  int64_t contributors = 1;  ///< to each broadcast
};

/// Seconds of a step in which a worker waits for these calls, if
/// - a reduction goes by recursive doubling: ceil(log2 workers) exchanges, one after the other;
/// - contributors send to one of them, whose messages come in one after the other behind one latency, and the result
///   goes out along a tree of ceil(log2 workers) levels;
/// - a message takes the latency plus its bytes over the bandwidth, and messages do not hinder each other;
/// - workers come to a call at the same moment, and nothing is computed meanwhile.
/// Gradients are the same for all methods, go out while backward runs, and are left out.
double waiting_seconds(const StatisticsCalls& calls, int64_t workers, const Wire& wire);

}  // namespace samplenorm::bench
