#include <array>

#include "samplers/method.h"

// One line a method: the name of the `const Method` that its file defines.
#define SAMPLENORM_METHODS(METHOD) \
  METHOD(batch_norm)               \
  METHOD(naive_sampling)           \
  METHOD(batch_sampling)           \
  METHOD(feature_sampling)         \
  METHOD(lattice_sampling)         \
  METHOD(virtual_dataset)          \
  METHOD(fully_random)

namespace samplenorm {

#define DECLARE(method) extern const Method method;
SAMPLENORM_METHODS(DECLARE)
#undef DECLARE

std::span<const Method* const> registry() {
#define ADDRESS(method) &method,
  static constexpr std::array kAll = {SAMPLENORM_METHODS(ADDRESS)};
#undef ADDRESS
  return kAll;
}

const Method* find_method(std::string_view name) {
  for (const Method* method : registry())
    if (method->name == name) return method;
  return nullptr;
}

const Method& method_of(const MethodSpec& part) {
  if (const Method* method = find_method(part.name)) return *method;
  throw Error("unknown method '" + part.name + "' in a spec");
}

Method::Points points_of(const Method& method, const Shape& shape, Ratio ratio) {
  if (method.points) return method.points(shape, ratio);
  Stream any(0, Purpose::kSamplePerEpoch, 0, 0);
  const int64_t points = Group{1, method.boxes(shape, ratio, any)}.points();
  return {points, points};
}

std::vector<MethodInfo> methods() {
  std::vector<MethodInfo> all;
  for (const Method* method : registry()) {
    std::string notation(method->name);
    if (method->takes_ratio) notation += "-a/b";
    all.push_back({notation, std::string(method->title), std::string(method->summary)});
  }
  return all;
}

}  // namespace samplenorm
