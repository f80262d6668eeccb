// ReLU in the plain kernels: at zero, at NaN, and the same to the last bit in forward and backward.

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference.h"
#include "kernels/testing.h"

namespace samplenorm::reference {
namespace {

template <class T>
class ReluTest : public ::testing::Test {
 public:
  using C = Compute<T>;

  /// y, mask, and dx and dresidual for a gradient of ones, with ReLU from the mask or from x.
  struct Result {
    Tensor<T> y, dx, dresidual;
    std::vector<uint8_t> mask;
    std::vector<double> sum, sum_x;
  };

  static Result run(const Tensor<T>& x, C scale, C shift, bool from_mask) {
    Result result{x, x, x, std::vector<uint8_t>(static_cast<size_t>(x.sizes.n * mask_row_bytes(x.layout()))), {}, {}};
    const std::vector<T> dy(x.data.size(), static_cast<T>(C{1}));
    const auto channels = static_cast<size_t>(x.sizes.c);
    const std::vector<C> scales(channels, scale), shifts(channels, shift), means(channels, C{0});
    result.sum.resize(channels);
    result.sum_x.resize(channels);
    const Activation relu = find_activation("relu");
    apply<T>(x.layout(), x.layout(),
             {x.data.data(), nullptr, scales.data(), shifts.data(), &relu, result.y.begin(), result.mask.data()});
    backward<T>(x.layout(), x.layout(),
                {.dy = dy.data(),
                 .x = x.data.data(),
                 .centre = means.data(),
                 .scale = scales.data(),
                 .activation = &relu,
                 .shift = shifts.data(),
                 .mask = from_mask ? result.mask.data() : nullptr,
                 .dx = result.dx.begin(),
                 .dresidual = result.dresidual.begin(),
                 .sum_dy = result.sum,
                 .sum_dy_x = result.sum_x});
    return result;
  }

  static Tensor<T> one_value(double value) {
    return {{1, 1, 1, 1, 1}, Format::kContiguous, {static_cast<T>(static_cast<C>(value))}};
  }
};

using ReluTypes = ::testing::Types<float, double, BFloat16, Float16>;
TYPED_TEST_SUITE(ReluTest, ReluTypes);

TYPED_TEST(ReluTest, FromTheMaskAndFromXAgreeCloseToZeroToo) {
  using Wide = Compute<TypeParam>;
  constexpr double kStep = sizeof(TypeParam) == 2 ? 0x1p-7 : std::numeric_limits<Wide>::epsilon();
  std::mt19937_64 random(1);
  int stopped = 0, all = 0;
  for_each_case([&](const Sizes& sizes, Format format) {
    auto x = filled<TypeParam>(sizes, format, normal, random);
    for (TypeParam& value : x.data) {  // many within a few roundings of one value, whose result is about zero
      if (random() % 2 == 0) continue;
      const double near_one = 1 + (static_cast<double>(random() % 5) - 2) * kStep;
      value = static_cast<TypeParam>(static_cast<Wide>(0.7 * near_one));
    }
    const Wide scale = static_cast<Wide>(1.1 + normal(random) / 10);
    const Wide shift = static_cast<Wide>(-scale * static_cast<Wide>(static_cast<TypeParam>(Wide(0.7))));
    const auto by_mask = TestFixture::run(x, scale, shift, true);
    const auto by_x = TestFixture::run(x, scale, shift, false);
    for (size_t i = 0; i < x.data.size(); ++i) {
      ASSERT_EQ(by_mask.dx.value(i), by_x.dx.value(i));
      ASSERT_EQ(by_mask.dresidual.value(i), by_x.dresidual.value(i));
      stopped += by_x.dresidual.value(i) == 0;
      ++all;
    }
    EXPECT_EQ(by_mask.sum, by_x.sum);
    EXPECT_EQ(by_mask.sum_x, by_x.sum_x);
  });
  EXPECT_GT(stopped, all / 5);
  EXPECT_LT(stopped, all * 4 / 5);
}

TYPED_TEST(ReluTest, StopsTheGradientAtZero) {
  for (const bool from_mask : {false, true}) {
    const auto result = TestFixture::run(this->one_value(2), 1, -2, from_mask);
    EXPECT_EQ(result.y.value(0), 0);
    EXPECT_EQ(result.dx.value(0), 0);
  }
}

TYPED_TEST(ReluTest, LetsNaNPass) {
  for (const bool from_mask : {false, true}) {
    const auto result = TestFixture::run(this->one_value(NAN), 1, 0, from_mask);
    EXPECT_TRUE(std::isnan(result.y.value(0)));
    EXPECT_EQ(result.dresidual.value(0), 1);
  }
}

TYPED_TEST(ReluTest, HasMaskBytesOfItsOwnForEveryRow) {
  std::mt19937_64 random(2);
  const auto x = filled<TypeParam>({3, 3, 1, 1, 5}, Format::kChannelsLast, normal, random);
  ASSERT_EQ(mask_row_bytes(x.layout()), 5);
  const auto whole = TestFixture::run(x, 1, 0, true);
  for (int64_t row = 0; row < 3; ++row) {
    Tensor<TypeParam> part{{1, 3, 1, 1, 5}, Format::kChannelsLast};
    std::copy_n(x.data.begin() + row * 15, 15, part.data.begin());
    const auto alone = TestFixture::run(part, 1, 0, true);
    EXPECT_TRUE(std::equal(alone.mask.begin(), alone.mask.end(), whole.mask.begin() + row * 5));
    for (size_t i = 0; i < 15; ++i) EXPECT_EQ(alone.dx.value(i), whole.dx.value(static_cast<size_t>(row) * 15 + i));
  }
}

}  // namespace
}  // namespace samplenorm::reference
