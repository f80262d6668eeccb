#include "nn/activation.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>

#include <cmath>
#include <map>
#include <mutex>

#include "kernels/activations/formulas.h"
#include "samplenorm/error.h"

namespace samplenorm {
namespace {

/// The arithmetic of kernels/activations/formula.h on tensors of one type and device.
struct TensorMath {
  at::TensorOptions options;

  at::Tensor constant(double value) const { return at::full({}, value, options); }
  at::Tensor add(const at::Tensor& a, const at::Tensor& b) const { return a + b; }
  at::Tensor sub(const at::Tensor& a, const at::Tensor& b) const { return a - b; }
  at::Tensor mul(const at::Tensor& a, const at::Tensor& b) const { return a * b; }
  at::Tensor div(const at::Tensor& a, const at::Tensor& b) const { return a / b; }
  at::Tensor neg(const at::Tensor& a) const { return -a; }
  at::Tensor exp(const at::Tensor& a) const { return guarded(a, at::exp); }
  at::Tensor expm1(const at::Tensor& a) const { return guarded(a, at::expm1); }
  at::Tensor normal_cdf(const at::Tensor& a) const { return 0.5 * at::erfc(-0.70710678118654752440 * a); }
  at::Tensor less(const at::Tensor& a, const at::Tensor& b) const { return a.lt(b); }
  at::Tensor less_equal(const at::Tensor& a, const at::Tensor& b) const { return a.le(b); }
  at::Tensor select(const at::Tensor& condition, const at::Tensor& a, const at::Tensor& b) const {
    return at::where(condition, a, b);
  }
  /// function(a), whose infinite results have no part in derivatives: autograd multiplies them by 0, which gives NaN.
  at::Tensor guarded(const at::Tensor& a, at::Tensor (*function)(const at::Tensor&)) const {
    const double largest = options.dtype() == at::kDouble ? 709.7 : 88.7;
    return at::where(a > largest, INFINITY, function(a.clamp_max(largest)));
  }
};

/// Calls visit(formula, math, parameter) for the activation's formula.
template <class Visit>
at::Tensor with_formula(const at::Tensor& z, std::string_view name, Visit visit) {
  const Activation& activation = activation_of(name);
  const TensorMath math{z.options().requires_grad(false)};
#define TRY(Formula)                               \
  if (activation.name == formulas::Formula::kName) \
    return visit(formulas::Formula(), math, math.constant(activation.parameter));
  SAMPLENORM_FOR_EACH_ACTIVATION(TRY)
#undef TRY
  TORCH_INTERNAL_ASSERT(false, "no formula for ", name);
}

}  // namespace

const Activation& activation_of(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, Activation, std::less<>> known;
  const std::lock_guard lock(mutex);
  auto place = known.find(name);
  if (place != known.end()) return place->second;
  try {
    return known.emplace(name, find_activation(name)).first->second;
  } catch (const Error& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

at::Tensor activate(const at::Tensor& z, std::string_view activation) {
  const at::Tensor wide = z.to(at::toOpMathType(z.scalar_type()));
  return with_formula(wide, activation,
                      [&](auto formula, const auto& math, const at::Tensor& parameter) {
                        return formula.value(math, wide, parameter);
                      })
      .to(z.scalar_type());
}

at::Tensor derivative_at(const at::Tensor& z, std::string_view activation) {
  return with_formula(z, activation, [&](auto formula, const auto& math, const at::Tensor& parameter) {
    return formula.derivative(math, z, parameter);
  });
}

at::Tensor finish(at::Tensor y, const at::Tensor& residual, std::string_view activation) {
  if (residual.defined()) y = y + residual;
  return activation == "relu" ? y.relu() : activation == "identity" ? y : activate(y, activation);
}

}  // namespace samplenorm
