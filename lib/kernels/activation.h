#pragma once

// Activations as the kernels see them: y = f(z) between normalization and output. Their formulas are in activations/,
// one file each.

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace samplenorm {

/// Plain data, made by find_activation().
struct Activation {
  std::string_view name = "identity";  ///< in the registry: without a parameter
  /// ReLU, also with an upper limit, has code of its own in the loops of the kernels; others are called for a buffer of
  /// values at a time.
  enum class Kind { kIdentity, kRelu, kOther };
  Kind kind = Kind::kIdentity;
  /// f' is 1 or `slope`. One bit an element tells which, so a residual can be fused.
  bool piecewise_linear = true;
  double slope = 0;
  double limit = NAN;    ///< of ReLU: from here on f is the limit, and f' 0; NaN without
  double parameter = 0;  ///< 0 for those without

  /// f and f' of `count` values, in place.
  void (*value_float)(float* z, int64_t count, float parameter) = nullptr;
  void (*value_double)(double* z, int64_t count, double parameter) = nullptr;
  void (*derivative_float)(float* z, int64_t count, float parameter) = nullptr;
  void (*derivative_double)(double* z, int64_t count, double parameter) = nullptr;

  /// The same of one value without vectors: what the plain kernels (reference.h) use, and tests compare with.
  double (*plain_value)(double z, double parameter) = nullptr;
  double (*plain_derivative)(double z, double parameter) = nullptr;

  void value(float* z, int64_t count) const { value_float(z, count, static_cast<float>(parameter)); }
  void value(double* z, int64_t count) const { value_double(z, count, parameter); }
  void derivative(float* z, int64_t count) const { derivative_float(z, count, static_cast<float>(parameter)); }
  void derivative(double* z, int64_t count) const { derivative_double(z, count, parameter); }
};

/// The activation of a name, such as "relu", "gelu(tanh)", "leaky_relu" or, with its parameter, "leaky_relu(0.2)".
/// Throws Error if there is none.
Activation find_activation(std::string_view text);

/// All names, in the order of the registry.
std::vector<std::string> activations();

}  // namespace samplenorm
