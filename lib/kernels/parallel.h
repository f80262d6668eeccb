#pragma once

// How work is divided among threads.

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace samplenorm::kernels {

inline constexpr int64_t kLine = 64;  // bytes of a cache line

/// Waking a thread takes about as long as moving this much.
inline constexpr int64_t kBytesWorthAThread = 128 << 10;

inline int threads_for(int64_t bytes, int64_t items) {
  if (omp_in_parallel()) return 1;
  const int64_t useful = std::min(bytes / kBytesWorthAThread, items);
  return static_cast<int>(std::clamp<int64_t>(useful, 1, omp_get_max_threads()));
}

/// Calls work(begin, end) with a contiguous part of [0, items) on each of the threads that `bytes` are worth.
template <class Work>
void share(int64_t items, int64_t bytes, Work work) {
  const int threads = threads_for(bytes, items);
  if (threads == 1) return work(int64_t{0}, items);
#pragma omp parallel num_threads(threads)
  {
    const int64_t parts = omp_get_num_threads();
    const int64_t part = omp_get_thread_num();
    work(items * part / parts, items * (part + 1) / parts);
  }
}

}  // namespace samplenorm::kernels
