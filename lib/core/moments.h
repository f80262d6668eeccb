#pragma once

#include <cstdint>
#include <span>

namespace samplenorm {

/// Count, mean and sum of squared deviations (M2) per channel: all that crosses threads, processes and chunks.
/// A view: the memory belongs to the caller.
struct Moments {
  double count = 0;
  std::span<double> mean;
  std::span<double> m2;
};

/// `into` becomes the moments of both sets of points together (Chan et al. 1979). Counts of zero are allowed.
void merge(Moments& into, const Moments& from);

/// One group of a sample on its way to a layer's statistics.
struct WeightedMoments {
  double weight = 1;
  Moments moments;
};

/// A layer's statistics per channel, each a view with one value a channel.
struct Statistics {
  std::span<double> mean;          ///< sum of weight * mean
  std::span<double> var;           ///< sum of weight * biased variance
  std::span<double> unbiased_var;  ///< the same of unbiased variances, for running statistics
};

/// DESIGN: mu = sum w_g mu_g, v = sum w_g v_g.
void combine(std::span<const WeightedMoments> groups, Statistics out);

}  // namespace samplenorm
