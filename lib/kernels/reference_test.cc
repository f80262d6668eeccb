// Each plain kernel by itself, in all types and both memory formats, against its formula over (n, c, d, h, w). Data are
// chosen so that the arithmetic is exact: results must be equal, rounded to the type once.

#include "kernels/reference.h"

#include <bit>

#include "kernels/testing.h"

namespace samplenorm::reference {
namespace {

template <class T>
class ReferenceTest : public ::testing::Test {
 public:
  using C = Compute<T>;
  std::mt19937_64 random{1};

  Tensor<T> tensor(const Sizes& sizes, Format format) { return filled<T>(sizes, format, coarse, random); }
  std::vector<C> channels(const Sizes& sizes) { return per_channel<C>(sizes, coarser, random); }
};

using ReferenceTypes = ::testing::Types<float, double, BFloat16, Float16>;
TYPED_TEST_SUITE(ReferenceTest, ReferenceTypes);

/// The definition of a mask: an inner run of memory (a point's channels, a channel's map) begins with a byte.
bool bit_of(const std::vector<uint8_t>& mask, const Layout& layout, size_t element) {
  const auto length = static_cast<size_t>(layout.channel_stride == 1 ? layout.channels : layout.points());
  const size_t run = element / length, in_run = element % length;
  return mask.at(run * ((length + 7) / 8) + in_run / 8) >> in_run % 8 & 1;
}

int64_t bits_set(const std::vector<uint8_t>& mask) {
  int64_t count = 0;
  for (const uint8_t byte : mask) count += std::popcount(byte);
  return count;
}

TYPED_TEST(ReferenceTest, MomentsAreThoseOfThePointsInTheGroupsBoxes) {
  for_each_case([&](const Sizes& sizes, Format format) {
    const auto x = filled<TypeParam>(sizes, format, normal, this->random);
    for (const Group& group : groups_in(sizes)) {
      std::vector<double> mean(static_cast<size_t>(sizes.c), 9), m2(static_cast<size_t>(sizes.c), 9);
      Moments out{9, mean, m2};
      moments(x.layout(), x.data.data(), listed(numbers_of(group, sizes)), out);
      for (int64_t c = 0; c < sizes.c; ++c) {
        std::vector<long double> values;
        for_each_index(sizes, [&](int64_t n, int64_t channel, int64_t d, int64_t h, int64_t w) {
          if (channel == c && times_in(group, n, d, h, w) > 0) values.push_back(x.at(n, c, d, h, w));
        });
        long double sum = 0, squares = 0;
        for (const long double value : values) sum += value;
        const long double center = sum / static_cast<long double>(values.size());
        for (const long double value : values) squares += (value - center) * (value - center);
        ASSERT_EQ(out.count, static_cast<double>(values.size()));
        EXPECT_NEAR(out.mean[static_cast<size_t>(c)], static_cast<double>(center), 1e-14);
        EXPECT_NEAR(out.m2[static_cast<size_t>(c)], static_cast<double>(squares), 1e-12);
      }
    }
  });
}

TYPED_TEST(ReferenceTest, ApplyScalesShiftsAddsTheResidualAndCutsOff) {
  for_each_case([&](const Sizes& sizes, Format format) {
    const auto x = this->tensor(sizes, format), residual = this->tensor(sizes, format);
    const auto scale = this->channels(sizes), shift = this->channels(sizes);
    const Activation f = find_activation("relu");
    for (const bool with_residual : {false, true})
      for (const bool relu : {false, true}) {
        auto y = this->tensor(sizes, format);
        apply<TypeParam>(x.layout(), x.layout(),
                         {x.data.data(), with_residual ? residual.data.data() : nullptr, scale.data(), shift.data(),
                          relu ? &f : nullptr, y.begin()});
        for_each_index(sizes, [&](int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
          double expected = x.at(n, c, d, h, w) * scale[static_cast<size_t>(c)] + shift[static_cast<size_t>(c)];
          if (with_residual) expected += residual.at(n, c, d, h, w);
          if (relu && expected < 0) expected = 0;
          ASSERT_EQ(y.at(n, c, d, h, w), stored<TypeParam>(expected));
        });
      }
  });
}

TYPED_TEST(ReferenceTest, ApplySetsTheMaskBitsOfPositiveResultsAlone) {
  for_each_case([&](const Sizes& sizes, Format format) {
    const auto x = this->tensor(sizes, format), residual = this->tensor(sizes, format);
    const auto scale = this->channels(sizes), shift = this->channels(sizes);
    auto y = this->tensor(sizes, format);
    std::vector<uint8_t> mask(static_cast<size_t>(sizes.n * mask_row_bytes(x.layout())), 0xFF);
    const Activation relu = find_activation("relu");
    apply<TypeParam>(x.layout(), x.layout(),
                     {x.data.data(), residual.data.data(), scale.data(), shift.data(), &relu, y.begin(), mask.data()});
    int64_t positive = 0;
    for_each_index(sizes, [&](int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
      const size_t i = x.index(n, c, d, h, w);
      ASSERT_EQ(bit_of(mask, x.layout(), i), y.value(i) > 0);
      positive += y.value(i) > 0;
    });
    EXPECT_EQ(bits_set(mask), positive) << "bits are set behind the end of a row";
  });
}

TYPED_TEST(ReferenceTest, BackwardScalesTheGradientAndGivesBothSums) {
  enum Relu { kNone, kFromX, kFromY, kFromMask };
  for_each_case([&](const Sizes& sizes, Format format) {
    const auto x = this->tensor(sizes, format), dy = this->tensor(sizes, format);
    const auto centre = this->channels(sizes), scale = this->channels(sizes);
    const auto shift = this->channels(sizes);
    const Activation f = find_activation("relu");
    const auto offset = this->channels(sizes), slope = this->channels(sizes);
    std::vector<uint8_t> mask(static_cast<size_t>(sizes.n * mask_row_bytes(x.layout())));
    for (uint8_t& byte : mask) byte = static_cast<uint8_t>(this->random());
    for (const Relu relu : {kNone, kFromX, kFromY, kFromMask})
      for (const bool corrected : {false, true}) {
        auto dx = this->tensor(sizes, format), dresidual = this->tensor(sizes, format);
        const std::vector<double> zeros(static_cast<size_t>(sizes.c));
        std::vector<double> sum(zeros.size(), 1e9), sum_x(zeros.size(), -1e9);
        std::vector<double> expected_sum = zeros, expected_sum_x = zeros;
        backward<TypeParam>(x.layout(), x.layout(),
                            {.dy = dy.data.data(),
                             .x = x.data.data(),
                             .centre = centre.data(),
                             .scale = scale.data(),
                             .activation = relu == kFromX || relu == kFromY ? &f : nullptr,
                             .shift = relu == kFromY ? nullptr : shift.data(),
                             .mask = relu == kFromMask ? mask.data() : nullptr,
                             .offset = corrected ? offset.data() : nullptr,
                             .slope = corrected ? slope.data() : nullptr,
                             .dx = dx.begin(),
                             .dresidual = dresidual.begin(),
                             .sum_dy = sum,
                             .sum_dy_x = sum_x});
        for_each_index(sizes, [&](int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
          const size_t i = x.index(n, c, d, h, w), at = static_cast<size_t>(c);
          bool passes = true;
          if (relu == kFromX) passes = x.value(i) * scale[at] + shift[at] > 0;
          if (relu == kFromY) passes = x.value(i) > 0;
          if (relu == kFromMask) passes = bit_of(mask, x.layout(), i);
          const double gradient = passes ? dy.value(i) : 0;
          const double deviation = x.value(i) - centre[at];
          const double correction = corrected ? offset[at] + slope[at] * deviation : 0;
          ASSERT_EQ(dx.value(i), stored<TypeParam>(gradient * scale[at] - correction));
          ASSERT_EQ(dresidual.value(i), gradient);
          expected_sum[at] += gradient;
          expected_sum_x[at] += gradient * deviation;
        });
        EXPECT_EQ(sum, expected_sum);
        EXPECT_EQ(sum_x, expected_sum_x);
      }
  });
}

TYPED_TEST(ReferenceTest, CorrectSubtractsALineInXOnTheGroupsPointsAlone) {
  for_each_case([&](const Sizes& sizes, Format format) {
    const auto x = this->tensor(sizes, format), before = this->tensor(sizes, format);
    const auto mean = this->channels(sizes), offset = this->channels(sizes), slope = this->channels(sizes);
    for (const Group& group : groups_in(sizes)) {
      std::vector<TypeParam> sampled(static_cast<size_t>(group.points() * sizes.c));
      const auto numbers = numbers_of(group, sizes);
      gather(x.layout(), x.data.data(), listed(numbers), dense_copy(x.layout(), sampled.data(), group.points()));
      const auto sample = dense_copy<const TypeParam>(x.layout(), sampled.data(), group.points());
      auto dx = before;
      correct<TypeParam>(x.layout(), listed(numbers), {sample, mean.data(), offset.data(), slope.data(), dx.begin()});
      for_each_index(sizes, [&](int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
        const size_t i = x.index(n, c, d, h, w), at = static_cast<size_t>(c);
        double expected = before.value(i);
        if (times_in(group, n, d, h, w) > 0) expected -= offset[at] + slope[at] * (x.value(i) - mean[at]);
        ASSERT_EQ(dx.value(i), stored<TypeParam>(expected));
      });
    }
  });
}

}  // namespace
}  // namespace samplenorm::reference
