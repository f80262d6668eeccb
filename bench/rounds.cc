#include "bench/rounds.h"

#include <sys/resource.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/quartiles.h"
#include "bench/stopwatch.h"

namespace samplenorm::bench {
namespace {

void call(Contender& contender, Seconds& seconds) {
  const Stopwatch watch;
  contender.forward();
  const double after_forward = watch.seconds();
  contender.backward();
  const double after_backward = watch.seconds();
  contender.release();
  const double layers = contender.layers();
  seconds.forward.push_back(after_forward / layers);
  seconds.backward.push_back((after_backward - after_forward) / layers);
  seconds.both.push_back(after_backward / layers);
}

int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// One call, which brings the contender's own data into the caches; more of them while calls still meet new pages,
/// since glibc needs a few of a size until it gives out the same place again.
void settle(Contender& contender, int most_calls) {
  constexpr int64_t kFewFaults = 64;
  Seconds not_counted;
  for (int i = 0; i < most_calls; ++i) {
    const int64_t before = page_faults();
    call(contender, not_counted);
    if (page_faults() - before <= kFewFaults) return;
  }
}

void take_turn(Contender& contender, const Effort& effort, Seconds& rounds) {
  settle(contender, effort.settling_calls);
  Seconds repeats;
  const Stopwatch since_begin;
  for (int i = 0; i < effort.repeats || since_begin.seconds() < effort.seconds_per_turn; ++i) call(contender, repeats);
  for (const Phase phase : {&Seconds::forward, &Seconds::backward, &Seconds::both}) {
    (rounds.*phase).push_back(quartiles(repeats.*phase).median);
  }
}

}  // namespace

std::vector<size_t> shuffled(size_t count, size_t round) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(round));
  return order;
}

std::vector<Seconds> time_in_rounds(const std::vector<Contender*>& contenders, const Effort& effort) {
  std::vector<Seconds> seconds(contenders.size());
  const Stopwatch since_begin;
  for (size_t round = 0; static_cast<int>(round) < effort.rounds || since_begin.seconds() < effort.seconds; ++round) {
    for (const size_t turn : shuffled(contenders.size(), round)) take_turn(*contenders[turn], effort, seconds[turn]);
  }
  return seconds;
}

}  // namespace samplenorm::bench
