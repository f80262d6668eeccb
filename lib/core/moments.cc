#include "core/moments.h"

#include <algorithm>

namespace samplenorm {

void merge(Moments& into, const Moments& from) {
  if (from.count == 0) return;
  if (into.count == 0) {  // whatever stood there, 0/0 as well, says nothing
    std::ranges::copy(from.mean, into.mean.begin());
    std::ranges::copy(from.m2, into.m2.begin());
    into.count = from.count;
    return;
  }
  const double count = into.count + from.count;
  const double share = from.count / count;
  for (size_t c = 0; c < into.mean.size(); ++c) {
    const double delta = from.mean[c] - into.mean[c];
    into.mean[c] += delta * share;
    into.m2[c] += from.m2[c] + delta * delta * into.count * share;
  }
  into.count = count;
}

void combine(std::span<const WeightedMoments> groups, Statistics out) {
  std::ranges::fill(out.mean, 0);
  std::ranges::fill(out.var, 0);
  std::ranges::fill(out.unbiased_var, 0);
  for (const auto& [weight, moments] : groups) {
    const double biased = weight / moments.count;
    const double unbiased = weight / std::max(moments.count - 1, 1.0);  // one point: its variance is 0 either way
    for (size_t c = 0; c < out.mean.size(); ++c) {
      out.mean[c] += weight * moments.mean[c];
      out.var[c] += biased * moments.m2[c];
      out.unbiased_var[c] += unbiased * moments.m2[c];
    }
  }
}

}  // namespace samplenorm
