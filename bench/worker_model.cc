#include "bench/worker_model.h"

#include <bit>

namespace samplenorm::bench {

double waiting_seconds(const StatisticsCalls& calls, int64_t workers, const Wire& wire) {
  if (workers < 2) return 0;
  const auto seconds_of = [&](double messages, double bytes) {
    return messages * wire.latency_seconds + bytes / wire.bytes_per_second;
  };
  const auto levels = static_cast<double>(std::bit_width(static_cast<uint64_t>(workers - 1)));
  const auto reduced_bytes = static_cast<double>(calls.reduced_bytes);
  const auto broadcast_bytes = static_cast<double>(calls.broadcast_bytes);
  const auto broadcasts = static_cast<double>(calls.broadcasts);
  const auto senders = static_cast<double>(calls.contributors - 1);
  double seconds = seconds_of(levels * static_cast<double>(calls.reductions), levels * reduced_bytes);
  seconds += seconds_of(levels * broadcasts, levels * broadcast_bytes);
  if (senders > 0) seconds += seconds_of(broadcasts, senders * broadcast_bytes);
  return seconds;
}

}  // namespace samplenorm::bench
