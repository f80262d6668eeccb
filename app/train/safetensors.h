#pragma once

// The safetensors format: the length of the header (8 bytes, little-endian), a header of JSON that gives the type,
// shape and place of every tensor, and the tensors' bytes without gaps. Python's `safetensors` reads what is written
// here, and the other way round.

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace samplenorm::train {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;
using Metadata = std::map<std::string, std::string>;

struct TensorFile {
  NamedTensors tensors;  ///< in the order of the header, which is the order in which they were given to be written
  Metadata metadata;
};

/// The format's name of a type ("F32"). Throws Error for a type that it does not know here.
std::string safetensors_type(torch::ScalarType type);

/// Written beside its place, put on the disk and renamed. Elements are in logical (row-major) order, whatever the
/// tensor's strides; F64, F32, F16, BF16, I64, I32, U8 and BOOL are known. Throws Error.
void write_safetensors(const std::filesystem::path& file, const TensorFile& content);

/// Checks all that can be checked: lengths, types, shapes, names, that the tensors fill the file without gap or
/// overlap. Throws Error with the name of the file.
TensorFile read_safetensors(const std::filesystem::path& file);

}  // namespace samplenorm::train
