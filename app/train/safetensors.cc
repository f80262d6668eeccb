#include "train/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "record/output_file.h"
#include "samplenorm/error.h"
#include "train/safetensors_types.h"

namespace samplenorm::train {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian, as is every machine we know");

constexpr size_t kAlignment = 8;

void check_names(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw Error(fmt::format("expected tensors with different names, found '{}' twice", *twice));
  if (std::binary_search(names.begin(), names.end(), kMetadataKey)) {
    throw Error(fmt::format("'{}' is reserved by the safetensors format and cannot be a tensor's name", kMetadataKey));
  }
}

/// Indices of the tensors as they follow each other in the file: large elements first, so that each tensor's place is a
/// multiple of its element's size. Readers that map the file need that.
std::vector<size_t> order_in_file(const NamedTensors& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensors[a].second.element_size() > tensors[b].second.element_size();
  });
  return order;
}

std::string dumped(const nlohmann::ordered_json& header) {
  try {
    return header.dump();
  } catch (const nlohmann::ordered_json::exception&) {
    throw Error("expected names and metadata in UTF-8 to write as safetensors, found what is not");
  }
}

std::string header_of(const TensorFile& content, const std::vector<size_t>& order) {
  std::vector<std::pair<int64_t, int64_t>> places(order.size());
  int64_t begin = 0;
  for (const size_t index : order) {
    const int64_t end = begin + static_cast<int64_t>(content.tensors[index].second.nbytes());
    places[index] = {begin, end};
    begin = end;
  }
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!content.metadata.empty()) header[kMetadataKey] = content.metadata;
  for (size_t i = 0; i < content.tensors.size(); ++i) {
    const auto& [name, tensor] = content.tensors[i];
    header[name] = {{"dtype", safetensors_type(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {places[i].first, places[i].second}}};
  }
  std::string text = dumped(header);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, const TensorFile& content) {
  check_names(content.tensors);
  const auto order = order_in_file(content.tensors);
  const std::string header = header_of(content, order);
  if (header.size() > kLongestHeader) {
    throw Error(fmt::format("cannot write {}: expected a header of at most {} bytes, found {}", file.string(),
                            kLongestHeader, header.size()));
  }
  const uint64_t length = header.size();
  record::AtomicFile output(file);
  output.write({reinterpret_cast<const char*>(&length), sizeof(length)});
  output.write(header);
  for (const size_t index : order) {
    const torch::Tensor tensor = content.tensors[index].second.detach().cpu().contiguous();
    output.write({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  output.commit();
}

}  // namespace samplenorm::train
