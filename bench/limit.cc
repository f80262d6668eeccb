// Highway compiles this file once for each instruction set and chooses at run time (foreach_target.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/limit.cc"
#include <hwy/foreach_target.h>
// The line above includes this file again; what follows must know its instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "bench/limit.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A cache line of floats, a multiple of every vector in use: streaming stores that leave a line unfinished are slow.
constexpr int64_t kLine = 16;
using Vectors = hn::CappedTag<float, kLine>;

template <bool streaming>
HWY_INLINE void store(hn::Vec<Vectors> value, float* to) {
  if constexpr (streaming) {
    hn::Stream(value, Vectors(), to);
  } else {
    hn::Store(value, Vectors(), to);
  }
}

/// Calls step(i) for every vector of [begin, end), which are whole lines: two lines a turn of the loop.
template <class Step>
HWY_INLINE void for_lines(int64_t begin, int64_t end, const Step& step) {
  const auto width = static_cast<int64_t>(hn::Lanes(Vectors()));
  int64_t i = begin;
  for (; i + 2 * kLine <= end; i += 2 * kLine) {
    for (int64_t j = 0; j < 2 * kLine; j += width) step(i + j);
  }
  for (; i < end; i += width) step(i);
}

template <bool streaming>
void copy_as(const float* from, float* to, int64_t begin, int64_t end) {
  for_lines(begin, end, [&](int64_t i) HWY_ATTR { store<streaming>(hn::Load(Vectors(), from + i), to + i); });
}

template <bool streaming>
void triad_as(const float* a, const float* b, float* sum, int64_t begin, int64_t end) {
  for_lines(begin, end, [&](int64_t i) HWY_ATTR {
    store<streaming>(hn::Add(hn::Load(Vectors(), a + i), hn::Load(Vectors(), b + i)), sum + i);
  });
}

template <bool streaming>
void triad_and_copy_as(const float* a, const float* b, float* sum, float* copy_of_a, int64_t begin, int64_t end) {
  for_lines(begin, end, [&](int64_t i) HWY_ATTR {
    const auto value = hn::Load(Vectors(), a + i);
    store<streaming>(hn::Add(value, hn::Load(Vectors(), b + i)), sum + i);
    store<streaming>(value, copy_of_a + i);
  });
}

void copy_part(const float* from, float* to, int64_t begin, int64_t end, Stores stores) {
  stores == Stores::kStreaming ? copy_as<true>(from, to, begin, end) : copy_as<false>(from, to, begin, end);
}

void triad_part(const float* a, const float* b, float* sum, int64_t begin, int64_t end, Stores stores) {
  stores == Stores::kStreaming ? triad_as<true>(a, b, sum, begin, end) : triad_as<false>(a, b, sum, begin, end);
}

void triad_and_copy_part(const float* a, const float* b, float* sum, float* copy_of_a, int64_t begin, int64_t end,
                         Stores stores) {
  stores == Stores::kStreaming ? triad_and_copy_as<true>(a, b, sum, copy_of_a, begin, end)
                               : triad_and_copy_as<false>(a, b, sum, copy_of_a, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace samplenorm::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <omp.h>

namespace samplenorm::bench {

HWY_EXPORT(copy_part);
HWY_EXPORT(triad_part);
HWY_EXPORT(triad_and_copy_part);

namespace {

constexpr int64_t kLine = 16;

/// Splits the whole lines of `count` values among the threads: each calls part(begin, end) once.
template <class Part>
void on_all_threads(int64_t count, Stores stores, const Part& part) {
  const int64_t lines = count / kLine;
#pragma omp parallel
  {
    const int64_t threads = omp_get_num_threads();
    const int64_t thread = omp_get_thread_num();
    part(lines * thread / threads * kLine, lines * (thread + 1) / threads * kLine);
    if (stores == Stores::kStreaming) hwy::FlushStream();
  }
}

int64_t whole_lines(int64_t count) { return count / kLine * kLine; }

}  // namespace

void copy(const float* from, float* to, int64_t count, Stores stores) {
  on_all_threads(count, stores, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(copy_part)(from, to, begin, end, stores);
  });
  for (int64_t i = whole_lines(count); i < count; ++i) to[i] = from[i];
}

void triad(const float* a, const float* b, float* sum, int64_t count, Stores stores) {
  on_all_threads(count, stores, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(triad_part)(a, b, sum, begin, end, stores);
  });
  for (int64_t i = whole_lines(count); i < count; ++i) sum[i] = a[i] + b[i];
}

void triad_and_copy(const float* a, const float* b, float* sum, float* copy_of_a, int64_t count, Stores stores) {
  on_all_threads(count, stores, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(triad_and_copy_part)(a, b, sum, copy_of_a, begin, end, stores);
  });
  for (int64_t i = whole_lines(count); i < count; ++i) {
    sum[i] = a[i] + b[i];
    copy_of_a[i] = a[i];
  }
}

}  // namespace samplenorm::bench
#endif  // HWY_ONCE
