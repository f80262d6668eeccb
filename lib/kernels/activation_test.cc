// Activations: their names, and their vectors on every instruction set against the plain formulas.

#include "kernels/activation.h"

#include <cmath>
#include <limits>
#include <set>

#include "kernels/fast_testing.h"
#include "samplenorm/error.h"

namespace samplenorm {
namespace {

/// Those of the registry, and parameters other than the defaults.
std::vector<std::string> names_to_try() {
  std::vector<std::string> names = activations();
  for (const char* name : {"leaky_relu(0.3)", "leaky_relu(-1.5)", "leaky_relu(0)", "elu(0.7)", "elu(-2)"})
    names.emplace_back(name);
  return names;
}

template <class T>
class ActivationTest : public ::testing::Test {
 public:
  using Limits = std::numeric_limits<T>;

  /// Close to zero, where curves bend; all magnitudes; and where something happens: kinks, overflowing exponents, the
  /// ends of the range, infinity and NaN.
  static std::vector<T> values() {
    std::vector<T> all = {Limits::quiet_NaN(), Limits::infinity(), Limits::max(), Limits::denorm_min(), 0};
    for (int i = 1; i <= 20 * 256; ++i) all.push_back(static_cast<T>(i) / 256);
    for (int exponent = Limits::min_exponent - Limits::digits; exponent < Limits::max_exponent; ++exponent)
      for (const double factor : {1.0, 1.1875, 1.37})
        all.push_back(static_cast<T>(std::ldexp(static_cast<T>(factor), exponent)));
    for (const double around : {3.0, 6.0, 14.5, 15.0, 87.3, 88.7228, 103.97, 104.0, 708.39, 709.78, 710.0, 745.13})
      for (const double by : {-0.1, -1e-3, -1e-6, 0.0, 1e-6, 1e-3, 0.1}) all.push_back(static_cast<T>(around + by));
    const size_t positive = all.size();
    for (size_t i = 0; i < positive; ++i) all.push_back(-all[i]);
    return all;
  }

  /// Relative to the value, and where terms cancel to what they are. A small e^a has |a| times the error of a; and
  /// z / (1 + e^-z) is 0 where e^-z is infinite.
  static void expect_near(T actual, double expected, T z, double cancelled) {
    if (std::isnan(expected) || std::isinf(expected) || std::abs(expected) > static_cast<double>(Limits::max())) {
      ASSERT_EQ(std::isnan(actual), std::isnan(expected)) << "at " << z;
      if (!std::isnan(expected)) {
        ASSERT_EQ(actual, std::copysign(Limits::infinity(), static_cast<T>(expected))) << "at " << z;
      }
      return;
    }
    const double unit = Limits::epsilon(), smallest = 256 * static_cast<double>(Limits::min());
    const double exponent = -std::log(std::min(std::abs(expected) + smallest, 1.0));
    const double allowed = unit * ((8 + 2 * exponent) * std::abs(expected) + 8 * cancelled) + smallest;
    ASSERT_NEAR(static_cast<double>(actual), expected, allowed) << "at " << z;
  }
};

using ActivationTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ActivationTest, ActivationTypes);

TYPED_TEST(ActivationTest, OfVectorsEqualsThePlainOneForAllMagnitudesOnEveryInstructionSet) {
  using T = TypeParam;
  const std::vector<T> z = this->values();
  on_every_instruction_set([&] {
    for (const std::string& name : names_to_try()) {
      SCOPED_TRACE(name);
      const Activation f = find_activation(name);
      const auto parameter = static_cast<double>(static_cast<T>(f.parameter));
      std::vector<T> values = z, derivatives = z;
      f.value(values.data(), std::ssize(values));
      f.derivative(derivatives.data(), std::ssize(derivatives));
      for (size_t i = 0; i < z.size(); ++i) {
        // Where z^2 is infinite in T but not in double, T may give what it gives at infinity (torch does, too).
        const bool is_huge = std::isinf(z[i] * z[i]) && std::isnan(derivatives[i]);
        const double wide = is_huge ? std::copysign(INFINITY, z[i]) : static_cast<double>(z[i]);
        this->expect_near(values[i], f.plain_value(static_cast<double>(z[i]), parameter), z[i], 0);
        this->expect_near(derivatives[i], f.plain_derivative(wide, parameter), z[i], 4);
        if (this->HasFatalFailure()) return;
      }
    }
  });
}

TYPED_TEST(ActivationTest, OfAnyNumberOfValuesAtAnyPlaceGivesTheSameBitsAndTouchesNothingElse) {
  using T = TypeParam;
  constexpr int64_t kTwoVectors = 2 * 64 / static_cast<int64_t>(sizeof(T));
  std::mt19937_64 random(3);
  on_every_instruction_set([&] {
    for (const std::string& name : names_to_try()) {
      SCOPED_TRACE(name);
      const Activation f = find_activation(name);
      for (int64_t count = 0; count <= kTwoVectors + 1; ++count) {
        std::vector<T> z(static_cast<size_t>(count));
        for (T& value : z) value = static_cast<T>(3 * normal(random));
        Placed<T> values(z, count % 5), derivatives(z, count % 7);
        f.value(values.begin(), count);
        f.derivative(derivatives.begin(), count);
        std::vector<T> alone = z, derivative_alone = z;
        for (T& value : alone) f.value(&value, 1);
        for (T& value : derivative_alone) f.derivative(&value, 1);
        expect_equal(values.values(), alone, "value");
        expect_equal(derivatives.values(), derivative_alone, "derivative");
        ASSERT_TRUE(values.guards_are_whole() && derivatives.guards_are_whole()) << count << " values";
        if (this->HasFatalFailure()) return;
      }
    }
  });
}

TYPED_TEST(ActivationTest, ThatIsPiecewiseLinearHasADerivativeOfOneOrItsSlope) {
  using T = TypeParam;
  for (const std::string& name : names_to_try()) {
    const Activation f = find_activation(name);
    const auto is_known = [&](T derivative) {
      f.derivative(&derivative, 1);
      return derivative == 1 || derivative == static_cast<T>(f.slope);
    };
    EXPECT_EQ(std::ranges::all_of(this->values(), is_known), f.piecewise_linear) << name;
  }
}

TEST(FindActivation, KnowsEveryNameOnceAndParametersInBrackets) {
  const std::vector<std::string> names = activations();
  EXPECT_EQ(names[0], "identity");
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const std::string& name : names) EXPECT_EQ(find_activation(name).name, name);

  EXPECT_EQ(find_activation("leaky_relu").parameter, 0.01);
  EXPECT_EQ(find_activation("leaky_relu").slope, 0.01);
  EXPECT_EQ(find_activation("leaky_relu(0.25)").slope, 0.25);
  EXPECT_EQ(find_activation("leaky_relu(-1e-3)").parameter, -1e-3);
  EXPECT_EQ(find_activation("elu").parameter, 1);
  EXPECT_EQ(find_activation("elu(0.5)").parameter, 0.5);
  EXPECT_EQ(find_activation("elu(0.5)").name, "elu");
}

TEST(FindActivation, ThrowsForAnythingElseAndShowsWhatThereIs) {
  for (const std::string text : {"",
                                 "Relu",
                                 " relu",
                                 "relu ",
                                 "relu(1)",
                                 "relu()",
                                 "tanh",
                                 "gelu(none)",
                                 "gelu(tanh",
                                 "leaky_relu()",
                                 "leaky_relu(",
                                 "leaky_relu(0.1",
                                 "leaky_relu(0.1)x",
                                 "leaky_relu(0.1) ",
                                 "leaky_relu(a)",
                                 "leaky_relu(0.1a)",
                                 "leaky_relu(nan)",
                                 "leaky_relu(inf)",
                                 "leaky_relu(1e999)",
                                 "leaky_relu0.1)",
                                 "elu(1,2)",
                                 "elu)"}) {
    SCOPED_TRACE(text);
    try {
      find_activation(text);
      FAIL() << "accepted";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.ends_with("got \"" + text + "\"")) << message;
      for (const std::string& name : activations()) EXPECT_NE(message.find(name), std::string::npos) << message;
      EXPECT_NE(message.find("leaky_relu or leaky_relu(number)"), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace samplenorm
