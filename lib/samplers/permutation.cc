#include "samplers/permutation.h"

#include <numeric>
#include <utility>

namespace samplenorm {

std::vector<int64_t> random_permutation(int64_t count, Stream& stream, std::optional<int64_t> take) {
  std::vector<int64_t> entries(static_cast<size_t>(count));
  std::iota(entries.begin(), entries.end(), int64_t{0});
  const auto wanted = static_cast<size_t>(take.value_or(count));
  for (size_t i = 0; i < wanted; ++i) std::swap(entries[i], entries[i + stream.below(entries.size() - i)]);
  entries.resize(wanted);
  return entries;
}

}  // namespace samplenorm
