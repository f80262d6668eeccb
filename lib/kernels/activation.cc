// The registered activations over spans of values, on every instruction set, and the table of their names.

#include "kernels/activation.h"

#include <charconv>
#include <cmath>

#include "kernels/activations/formulas.h"
#include "samplenorm/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/activations/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

#include "kernels/activations/registry.h"

/// Replaces values by function(math, values, parameter), a vector at a time.
template <class T, class Function>
HWY_INLINE void for_each_vector(T* values, int64_t count, T parameter, Function function) {
  const hn::ScalableTag<T> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const VectorMath<hn::ScalableTag<T>> math{d};
  const auto parameters = hn::Set(d, parameter);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    hn::StoreU(function(math, hn::LoadU(d, values + i), parameters), d, values + i);
  if (i == count) return;
  HWY_ALIGN T rest[kLanes] = {};
  for (int64_t j = 0; i + j < count; ++j) rest[j] = values[i + j];
  hn::Store(function(math, hn::Load(d, rest), parameters), d, rest);
  for (int64_t j = 0; i + j < count; ++j) values[i + j] = rest[j];
}

// Flattened: formulas are ordinary functions, and vectors must not go through memory to reach them.
#define DEFINE_SPAN(Name, what, T)                                                                                     \
  HWY_FLATTEN void Name##_##what##_##T(T* z, int64_t count, T parameter) {                                             \
    for_each_vector(z, count, parameter,                                                                               \
                    [](const auto& math, auto values, auto same) HWY_ATTR { return Name::what(math, values, same); }); \
  }
#define DEFINE(Name)                   \
  DEFINE_SPAN(Name, value, float)      \
  DEFINE_SPAN(Name, value, double)     \
  DEFINE_SPAN(Name, derivative, float) \
  DEFINE_SPAN(Name, derivative, double)
SAMPLENORM_FOR_EACH_ACTIVATION(DEFINE)
#undef DEFINE
#undef DEFINE_SPAN

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace samplenorm {
namespace {

#define EXPORT_SPAN(Name, what, T)                                  \
  HWY_EXPORT(Name##_##what##_##T);                                  \
  void Name##_##what##_##T(T* z, int64_t count, T parameter) {      \
    HWY_DYNAMIC_DISPATCH(Name##_##what##_##T)(z, count, parameter); \
  }
#define EXPORT(Name)                   \
  EXPORT_SPAN(Name, value, float)      \
  EXPORT_SPAN(Name, value, double)     \
  EXPORT_SPAN(Name, derivative, float) \
  EXPORT_SPAN(Name, derivative, double)
SAMPLENORM_FOR_EACH_ACTIVATION(EXPORT)
#undef EXPORT
#undef EXPORT_SPAN

struct Entry {
  bool has_parameter;
  Activation activation;  ///< with the parameter's default
  double (*slope)(double parameter);
};

template <class F>
double plain_value(double z, double parameter) {
  return F::value(ScalarMath<double>(), z, parameter);
}
template <class F>
double plain_derivative(double z, double parameter) {
  return F::derivative(ScalarMath<double>(), z, parameter);
}

#define ENTRY(Name)                                                         \
  Entry{formulas::Name::kHasParameter,                                      \
        {.name = formulas::Name::kName,                                     \
         .kind = formulas::Name::kKind,                                     \
         .piecewise_linear = formulas::Name::kPiecewiseLinear,              \
         .slope = formulas::Name::slope(formulas::Name::kDefaultParameter), \
         .limit = formulas::Name::kLimit,                                   \
         .parameter = formulas::Name::kDefaultParameter,                    \
         .value_float = Name##_value_float,                                 \
         .value_double = Name##_value_double,                               \
         .derivative_float = Name##_derivative_float,                       \
         .derivative_double = Name##_derivative_double,                     \
         .plain_value = plain_value<formulas::Name>,                        \
         .plain_derivative = plain_derivative<formulas::Name>},             \
        formulas::Name::slope},
constexpr Entry kRegistry[] = {SAMPLENORM_FOR_EACH_ACTIVATION(ENTRY)};
#undef ENTRY

/// The number in "name(number)", NaN if it is something else.
double parameter_in(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || !text.substr(name.size()).starts_with('(') || !text.ends_with(')')) return NAN;
  const std::string_view number = text.substr(name.size() + 1, text.size() - name.size() - 2);
  double value = NAN;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  return error == std::errc() && end == number.data() + number.size() && std::isfinite(value) ? value : NAN;
}

}  // namespace

Activation find_activation(std::string_view text) {
  for (const Entry& entry : kRegistry) {
    Activation activation = entry.activation;
    if (text == activation.name) return activation;
    if (!entry.has_parameter) continue;
    const double parameter = parameter_in(text, activation.name);
    if (std::isnan(parameter)) continue;
    activation.parameter = parameter;
    activation.slope = entry.slope(parameter);
    return activation;
  }
  std::string known;
  for (const Entry& entry : kRegistry) {
    if (!known.empty()) known += ", ";
    known += entry.activation.name;
    if (entry.has_parameter) known += " or " + std::string(entry.activation.name) + "(number)";
  }
  throw Error("expected an activation, which is one of " + known + "; got \"" + std::string(text) + "\"");
}

std::vector<std::string> activations() {
  std::vector<std::string> names;
  for (const Entry& entry : kRegistry) names.emplace_back(entry.activation.name);
  return names;
}

}  // namespace samplenorm
#endif
