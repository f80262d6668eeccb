// The kernels that work on a sample's points, moments and correct, against the plain ones: lists in any order, ranges
// of points, copies with gaps, and tensors with many more rows than the sample has.

#include <algorithm>
#include <numeric>

#include "kernels/fast_testing.h"
#include "kernels/kernels.h"
#include "kernels/reference.h"

namespace samplenorm {
namespace {

/// Which points of a tensor to try, by the name of the case.
struct Case {
  const char* name;
  std::vector<int64_t> numbers;  ///< if empty: a range
  int64_t first = 0;
  int64_t count = 0;

  Points points() const { return numbers.empty() ? Points{nullptr, first, count} : listed(numbers); }
};

std::vector<Case> cases_in(const Sizes& sizes, std::mt19937_64& random) {
  const int64_t map = sizes.d * sizes.h * sizes.w, all = sizes.n * map;
  std::vector<int64_t> shuffled(static_cast<size_t>(all)), half_sorted, lines;
  std::iota(shuffled.begin(), shuffled.end(), 0);
  std::ranges::shuffle(shuffled, random);
  half_sorted.assign(shuffled.begin(), shuffled.begin() + all / 2 + 1);
  std::ranges::sort(half_sorted);
  for (int64_t i = 0; i < all; ++i)
    if (i % 40 < 29) lines.push_back(i);  // neighbours, across the ends of rows as well
  return {{"in any order", shuffled},
          {"in order, with gaps", half_sorted},
          {"neighbours", lines},
          {"one point", {all - 1}},
          {"two points", {all - 1, 0}},
          {"everything", {}, 0, all},
          {"a chunk of whole rows", {}, map, (sizes.n - 2) * map},
          {"a range within rows", {}, map / 2 + 1, all - map}};
}

template <class T>
class SampleTest : public ::testing::Test {
 public:
  std::mt19937_64 random{3};

  std::vector<Compute<T>> channels(const Sizes& sizes) { return per_channel<Compute<T>>(sizes, coarser, random); }

  /// Calls visit(sizes, layout, points) for tensors with few and many channels and points, in both formats.
  template <class Visit>
  void for_each_case(Visit visit) {
    for (const int64_t channels : {1, 3, 17, 64, 1024, 1025})
      for (const Sizes& sizes : {Sizes{5, channels, 1, 3, 4}, Sizes{4, channels, 1, 1, 1}, Sizes{6, channels, 2, 9, 7}})
        for (const Format format : {Format::kContiguous, Format::kChannelsLast})
          for (const Case& points : cases_in(sizes, random)) {
            SCOPED_TRACE(::testing::Message()
                         << channels << " channels of " << sizes.d << " x " << sizes.h << " x " << sizes.w
                         << ", channels last: " << (format == Format::kChannelsLast) << ", " << points.name);
            visit(sizes, Tensor<T>{sizes, format, {}}.layout(), points.points());
          }
  }
};

using SampleTypes = ::testing::Types<float, double, BFloat16, Float16>;
TYPED_TEST_SUITE(SampleTest, SampleTypes);

/// A copy of `channels` channels, of which an input has those from `first` on.
template <class T>
SampleCopy<T> copy_of_part(const Layout& part, T* data, int64_t points, int64_t channels, int64_t first) {
  Layout whole = part;
  whole.channels = channels;
  SampleCopy<T> copy = dense_copy(whole, data, points);
  copy.data += first * copy.channel_stride;
  return copy;
}

TYPED_TEST(SampleTest, MomentsEqualThePlainOnesWithACopyAndWithout) {
  using T = TypeParam;
  constexpr int64_t kBefore = 3, kAfter = 2;  // channels of other inputs in the copy
  this->for_each_case([&](const Sizes& sizes, const Layout& layout, Points points) {
    const auto x = filled<T>(sizes, Format::kContiguous, coarse, this->random).data;
    const auto channels = static_cast<size_t>(sizes.c);
    std::vector<double> expected_mean(channels), expected_m2(channels);
    Moments expected{0, expected_mean, expected_m2};
    reference::moments(layout, x.data(), points, expected);
    const int64_t all_channels = kBefore + sizes.c + kAfter;
    const std::vector<T> blank(static_cast<size_t>(points.count * all_channels), static_cast<T>(Compute<T>{55}));
    Placed<T> expected_copy(blank, 0);
    reference::gather(layout, x.data(), points,
                      copy_of_part(layout, expected_copy.begin(), points.count, all_channels, kBefore));
    WorkspaceMemory workspace(layout);
    on_every_instruction_set([&] {
      for (const bool with_copy : {false, true}) {
        std::vector<double> mean(channels, 9), m2(channels, 9);
        Moments found{9, mean, m2};
        Placed<T> copy(blank, 1);
        kernels::moments(
            layout, x.data(), points, found,
            with_copy ? copy_of_part(layout, copy.begin(), points.count, all_channels, kBefore) : SampleCopy<T>{},
            workspace);
        ASSERT_EQ(found.count, expected.count);
        for (size_t c = 0; c < channels; ++c) {
          ASSERT_NEAR(mean[c], expected_mean[c], 1e-13) << c;
          ASSERT_NEAR(m2[c], expected_m2[c], 1e-10 * (1 + expected_m2[c])) << c;
        }
        expect_equal(copy.values(), with_copy ? expected_copy.values() : blank, "copy");
        ASSERT_TRUE(copy.guards_are_whole());
      }
    });
  });
}

TYPED_TEST(SampleTest, CorrectEqualsThePlainOne) {
  using T = TypeParam;
  constexpr int64_t kBefore = 1, kAfter = 4;
  this->for_each_case([&](const Sizes& sizes, const Layout& layout, Points points) {
    const auto x = filled<T>(sizes, Format::kContiguous, coarse, this->random).data;
    const auto before = filled<T>(sizes, Format::kContiguous, coarse, this->random).data;
    const auto mean = this->channels(sizes), offset = this->channels(sizes), slope = this->channels(sizes);
    const int64_t all_channels = kBefore + sizes.c + kAfter;
    std::vector<T> copy(static_cast<size_t>(points.count * all_channels));
    reference::gather(layout, x.data(), points, copy_of_part(layout, copy.data(), points.count, all_channels, kBefore));
    Placed<T> expected(before, 0);
    Correct<T> args{copy_of_part<const T>(layout, copy.data(), points.count, all_channels, kBefore), mean.data(),
                    offset.data(), slope.data(), expected.begin()};
    reference::correct(layout, points, args);
    WorkspaceMemory workspace(layout);
    on_every_instruction_set([&] {
      Placed<T> dx(before, 2);
      args.dx = dx.begin();
      kernels::correct(layout, points, args, workspace);
      expect_equal(dx.values(), expected.values(), "dx");
      ASSERT_TRUE(dx.guards_are_whole());
    });
  });
}

}  // namespace
}  // namespace samplenorm
