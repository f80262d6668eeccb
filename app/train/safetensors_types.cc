#include "train/safetensors_types.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "samplenorm/error.h"
#include "train/safetensors.h"

namespace samplenorm::train {
namespace {

constexpr std::pair<std::string_view, torch::ScalarType> kTypes[] = {
    {"F64", torch::kFloat64}, {"F32", torch::kFloat32}, {"F16", torch::kFloat16}, {"BF16", torch::kBFloat16},
    {"I64", torch::kInt64},   {"I32", torch::kInt32},   {"U8", torch::kUInt8},    {"BOOL", torch::kBool},
};

}  // namespace

std::optional<torch::ScalarType> type_of_safetensors_name(std::string_view name) {
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return std::nullopt;
}

std::string_view known_safetensors_types() {
  static const std::string names = [] {
    std::string list;
    for (const auto& [name, type] : kTypes) list += (list.empty() ? "" : ", ") + std::string(name);
    return list;
  }();
  return names;
}

std::string safetensors_type(torch::ScalarType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return std::string(name);
  }
  throw Error(fmt::format("expected a tensor of one of the types {}, found {}", known_safetensors_types(),
                          torch::toString(type)));
}

}  // namespace samplenorm::train
