#pragma once

// What the writer and the reader of safetensors files have in common.

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace samplenorm::train {

inline constexpr const char* kMetadataKey = "__metadata__";
/// The limit that the format's own library has.
inline constexpr uint64_t kLongestHeader = 100'000'000;

/// Nothing for a name that the format does not have, or that has no use here.
std::optional<torch::ScalarType> type_of_safetensors_name(std::string_view name);
/// All that are known, for messages.
std::string_view known_safetensors_types();

}  // namespace samplenorm::train
