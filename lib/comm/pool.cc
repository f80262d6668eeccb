#include "comm/pool.h"

#include <vector>

namespace samplenorm {

void pool_moments(Communicator& communicator, std::span<const int> contributors, std::span<WeightedMoments> groups) {
  std::vector<double> buffer;
  for (const auto& [weight, moments] : groups) {
    buffer.push_back(moments.count);
    for (size_t c = 0; c < moments.mean.size(); ++c) {
      const double sum = moments.count == 0 ? 0 : moments.count * moments.mean[c];
      buffer.push_back(sum);
      buffer.push_back(moments.count == 0 ? 0 : moments.m2[c] + sum * moments.mean[c]);
    }
  }
  if (static_cast<int>(contributors.size()) == communicator.size()) {
    communicator.sum(buffer);
  } else {
    communicator.sum_of(contributors, buffer);
  }
  const double* next = buffer.data();
  for (auto& [weight, moments] : groups) {
    moments.count = *next++;
    for (size_t c = 0; c < moments.mean.size(); ++c) {
      const double sum = *next++, squares = *next++;
      moments.mean[c] = moments.count == 0 ? 0 : sum / moments.count;
      const double m2 = squares - sum * moments.mean[c];
      moments.m2[c] = m2 < 0 ? 0 : m2;  // by rounding; what is not a number stays so
    }
  }
}

}  // namespace samplenorm
