#include "samplers/permutation.h"

#include <map>
#include <set>

#include "core/testing.h"

namespace samplenorm {
namespace {

Stream stream_of(uint64_t time) { return {1, Purpose::kSamplePerEpoch, 0, time}; }

TEST(RandomPermutation, HasEveryEntryOnce) {
  for (int64_t count = 1; count < 50; ++count) {
    Stream stream = stream_of(static_cast<uint64_t>(count));
    const auto entries = random_permutation(count, stream);
    const std::set<int64_t> distinct(entries.begin(), entries.end());
    ASSERT_EQ(static_cast<int64_t>(distinct.size()), count);
    EXPECT_EQ(*distinct.begin(), 0);
    EXPECT_EQ(*distinct.rbegin(), count - 1);
  }
}

TEST(RandomPermutation, IsAnyOfAllWithEqualChance) {
  std::map<std::vector<int64_t>, int64_t> seen;
  Stream stream = stream_of(0);
  for (int i = 0; i < 24'000; ++i) ++seen[random_permutation(4, stream)];
  ASSERT_EQ(seen.size(), 24U);
  std::vector<int64_t> counts;
  for (const auto& [permutation, count] : seen) counts.push_back(count);
  EXPECT_TRUE(looks_uniform(counts));
}

TEST(RandomPermutation, CutShortIsTheBeginningOfTheWhole) {
  Stream whole = stream_of(5);
  Stream part = stream_of(5);
  auto entries = random_permutation(100, whole);
  entries.resize(7);
  EXPECT_EQ(random_permutation(100, part, 7), entries);
}

}  // namespace
}  // namespace samplenorm
