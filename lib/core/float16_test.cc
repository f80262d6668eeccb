// Both types against a table of all their values, made by the definition of the format, and a search in it.

#include "core/float16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace samplenorm {
namespace {

template <class T>
class Float16Test : public ::testing::Test {
 public:
  static constexpr bool kIsBFloat = std::is_same_v<T, BFloat16>;
  static constexpr int kMantissaBits = kIsBFloat ? 7 : 10;
  static constexpr int kBias = kIsBFloat ? 127 : 15;
  static constexpr uint32_t kInfinity = kIsBFloat ? 0x7F80 : 0x7C00;

  static T from_bits(uint32_t bits) {
    T value;
    value.bits = static_cast<uint16_t>(bits);
    return value;
  }

  /// The value of a pattern without its sign. Infinity has the value that would be next in a format without an end.
  static double value_of(uint32_t bits) {
    const int exponent = static_cast<int>(bits >> kMantissaBits);
    const double mantissa = bits & ((1U << kMantissaBits) - 1);
    if (exponent == 0) return std::ldexp(mantissa, 1 - kBias - kMantissaBits);
    return std::ldexp(mantissa + (1 << kMantissaBits), exponent - kBias - kMantissaBits);
  }

  /// The pattern nearest to |value|, the even one of two, and the sign of `value`.
  static uint32_t nearest(float value) {
    static const std::vector<double> table = [] {
      std::vector<double> values;
      for (uint32_t bits = 0; bits <= kInfinity; ++bits) values.push_back(value_of(bits));
      return values;
    }();
    const double size = std::abs(static_cast<double>(value));
    const auto above = static_cast<uint32_t>(std::lower_bound(table.begin(), table.end(), size) - table.begin());
    uint32_t bits = std::min(above, kInfinity);
    if (above > 0 && above <= kInfinity) {
      const double up = table[above] - size;
      const double down = size - table[above - 1];
      if (down < up || (down == up && above % 2 == 1)) bits = above - 1;
    }
    return std::signbit(value) ? bits | 0x8000 : bits;
  }
};

using Types = ::testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Float16Test, Types);

TYPED_TEST(Float16Test, EveryPatternHasTheValueOfItsFormat) {
  for (uint32_t bits = 0; bits < this->kInfinity; ++bits) {
    EXPECT_EQ(static_cast<float>(this->from_bits(bits)), this->value_of(bits));
    EXPECT_EQ(static_cast<float>(this->from_bits(bits | 0x8000)), -this->value_of(bits));
  }
  EXPECT_EQ(static_cast<float>(this->from_bits(this->kInfinity)), INFINITY);
  EXPECT_EQ(static_cast<float>(this->from_bits(this->kInfinity | 0x8000)), -INFINITY);
}

TYPED_TEST(Float16Test, EveryPatternSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto value = static_cast<float>(this->from_bits(bits));
    const TypeParam back(value);
    if ((bits & 0x7FFF) > this->kInfinity) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      EXPECT_EQ(back.bits, bits);
    }
  }
}

TYPED_TEST(Float16Test, RoundsToTheNearestAndHalfwayToEven) {
  for (uint32_t bits = 0; bits < this->kInfinity; ++bits) {
    const auto halfway = static_cast<float>((this->value_of(bits) + this->value_of(bits + 1)) / 2);
    for (const float size : {halfway, std::nextafter(halfway, 0.0F), std::nextafter(halfway, INFINITY)}) {
      EXPECT_EQ(TypeParam(size).bits, this->nearest(size)) << size;
      EXPECT_EQ(TypeParam(-size).bits, this->nearest(-size)) << -size;
    }
    EXPECT_EQ(TypeParam(halfway).bits, bits + bits % 2) << "halfway above " << bits;
  }
}

TYPED_TEST(Float16Test, RoundsAnyFloatToTheNearest) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(TypeParam(value).bits, this->nearest(value)) << value;
  }
}

TYPED_TEST(Float16Test, OverflowsToInfinity) {
  for (const float value : {std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(TypeParam(value).bits, this->kInfinity);
    EXPECT_EQ(TypeParam(-value).bits, this->kInfinity | 0x8000);
  }
}

TYPED_TEST(Float16Test, EveryNaNStaysNaN) {
  for (uint32_t mantissa = 1; mantissa < 0x800000; mantissa = mantissa * 2 + 1)
    for (const uint32_t payload : {mantissa, (mantissa + 1) / 2}) {
      const TypeParam value(std::bit_cast<float>(0x7F800000 | payload));
      EXPECT_TRUE(std::isnan(static_cast<float>(value))) << payload;
    }
}

TEST(Float16, OverflowsFromHalfAStepAboveTheLargestNumber) {
  EXPECT_EQ(static_cast<float>(Float16(65519.996F)), 65504);
  EXPECT_EQ(static_cast<float>(Float16(65520.0F)), INFINITY);
}

TEST(Float16, UnderflowsToZeroFromHalfTheSmallestNumber) {
  EXPECT_EQ(Float16(0x1p-25F).bits, 0);
  EXPECT_EQ(Float16(-0x1p-25F).bits, 0x8000);
  EXPECT_EQ(Float16(std::nextafter(0x1p-25F, 1.0F)).bits, 1);
}

}  // namespace
}  // namespace samplenorm
