#include "core/philox.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/testing.h"

namespace samplenorm {
namespace {

Stream any_stream() { return {7, Purpose::kSamplePerEpoch, 3, 5}; }

std::vector<uint32_t> first_numbers(Stream stream) {
  std::vector<uint32_t> numbers;
  for (int i = 0; i < 10; ++i) numbers.push_back(stream.next());
  return numbers;
}

TEST(Philox, MatchesThePublishedKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Stream, RestartedGivesTheSameNumbers) {
  EXPECT_EQ(first_numbers(any_stream()), first_numbers(any_stream()));
  Stream first = any_stream();
  Stream again = any_stream();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(first.below(1000), again.below(1000));
    EXPECT_EQ(first.normal(), again.normal());
  }
}

TEST(Stream, DiffersWithSeedPurposeLayerTimeAndChunk) {
  const uint64_t high = uint64_t{1} << 32;
  std::set<uint32_t> seen;
  size_t drawn = 0;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, high})
    for (const Purpose purpose : {Purpose::kSamplePerEpoch, Purpose::kSamplePerStep, Purpose::kVirtualRows})
      for (const uint64_t layer : {uint64_t{0}, uint64_t{1}, uint64_t{2}, high})
        for (const uint64_t time : {uint64_t{0}, uint64_t{1}, uint64_t{2}, high})
          for (const uint64_t chunk : {uint64_t{0}, uint64_t{1}, uint64_t{2}, high - 1}) {
            for (const uint32_t number : first_numbers({seed, purpose, layer, time, chunk})) seen.insert(number);
            drawn += 10;
          }
  // Not only different beginnings: hardly any number of one stream is in another. (Chance alone: 0.004 repeats.)
  EXPECT_GE(seen.size(), drawn - 1);
}

TEST(Stream, DoesNotRepeatItself) {
  Stream stream = any_stream();
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (int i = 0; i < 100'000; ++i) {
    const uint32_t first = stream.next();
    seen.insert({first, stream.next()});
  }
  EXPECT_EQ(seen.size(), 100'000U);
}

TEST(Stream, BelowIsUniform) {
  Stream stream = any_stream();
  for (const uint64_t bound : {2, 3, 7, 10, 64, 100, 1000}) {
    std::vector<int64_t> counts(bound);
    for (int i = 0; i < 200'000; ++i) {
      const uint64_t drawn = stream.below(bound);
      ASSERT_LT(drawn, bound);
      ++counts[drawn];
    }
    EXPECT_TRUE(looks_uniform(counts)) << "below(" << bound << ")";
  }
}

TEST(Stream, BelowHasNoBiasWhereTheBoundDoesNotDivideTheRange) {
  const uint64_t third =
      uint64_t{1} << 62;  // 2^64 numbers on three thirds of 2^62: one must not be drawn twice as often
  Stream stream = any_stream();
  std::vector<int64_t> counts(3);
  for (int i = 0; i < 100'000; ++i) ++counts.at(stream.below(3 * third) / third);
  EXPECT_TRUE(looks_uniform(counts));
}

TEST(Stream, BelowOneIsZero) {
  Stream stream = any_stream();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(stream.below(1), 0U);
}

TEST(Stream, NormalHasTheMomentsOfANormalDistribution) {
  constexpr int kCount = 4'000'000;
  Stream stream = any_stream();
  double sum = 0, squares = 0, cubes = 0, fourths = 0, products = 0, products_of_squares = 0, last = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.normal();
    sum += x;
    squares += x * x;
    cubes += x * x * x;
    fourths += x * x * x * x;
    products += x * last;
    products_of_squares += x * x * last * last;
    last = x;
  }
  const double root = std::sqrt(double{kCount});
  EXPECT_TRUE(looks_like(sum / kCount, 0, 1 / root)) << "mean";
  EXPECT_TRUE(looks_like(squares / kCount, 1, std::sqrt(2) / root)) << "variance";
  EXPECT_TRUE(looks_like(cubes / kCount, 0, std::sqrt(15) / root)) << "skewness";
  EXPECT_TRUE(looks_like(fourths / kCount, 3, std::sqrt(96) / root)) << "kurtosis";
  EXPECT_TRUE(looks_like(products / kCount, 0, 1 / root)) << "neighbours correlate";
  EXPECT_TRUE(looks_like(products_of_squares / kCount, 1, std::sqrt(8) / root)) << "squares of neighbours correlate";
}

TEST(Stream, NormalHasTheTailsOfANormalDistribution) {
  constexpr int kCount = 1'000'000;
  std::vector<double> drawn(kCount);
  Stream stream = any_stream();
  for (double& x : drawn) x = stream.normal();
  for (const double limit : {-3.0, -2.0, -1.0, -0.25, 0.25, 1.0, 2.0, 3.0, 4.0}) {
    const double chance = std::erfc(limit / std::sqrt(2)) / 2;
    const auto above =
        static_cast<double>(std::count_if(drawn.begin(), drawn.end(), [&](double x) { return x > limit; }));
    EXPECT_TRUE(looks_like(above / kCount, chance, std::sqrt(chance * (1 - chance) / kCount))) << "above " << limit;
  }
}

}  // namespace
}  // namespace samplenorm
