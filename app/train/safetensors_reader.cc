// Reads safetensors files and trusts nothing in them: a damaged file must end in one sentence, never in wrong weights.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "samplenorm/error.h"
#include "train/safetensors.h"
#include "train/safetensors_types.h"

namespace samplenorm::train {
namespace {

using Json = nlohmann::ordered_json;

struct Entry {
  std::string name;
  torch::ScalarType type;
  std::vector<int64_t> shape;
  uint64_t begin;
  uint64_t end;
};

class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& file) : file_(file), stream_(file, std::ios::binary) {
    std::error_code code;
    if (!stream_) fail(fmt::format("expected a readable file, found: {}", std::strerror(errno)));
    size_ = std::filesystem::file_size(file, code);
    if (code) fail(fmt::format("expected a regular file, found: {}", code.message()));
  }

  TensorFile read() {
    const Json header = read_header();
    TensorFile content;
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadataKey) {
        content.metadata = metadata_of(value);
      } else {
        entries.push_back(entry_of(name, value));
      }
    }
    check_places(entries);
    for (const auto& entry : entries) content.tensors.emplace_back(entry.name, read_tensor(entry));
    return content;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(fmt::format("{}: {}", file_.string(), problem));
  }
  [[noreturn]] void fail(const std::string& tensor, const std::string& problem) const {
    fail(fmt::format("tensor '{}': {}", tensor, problem));
  }

  void read_bytes(void* to, uint64_t count) {
    stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(count));
    if (!stream_) fail(fmt::format("expected {} bytes more, found what cannot be read", count));
  }

  Json read_header() {
    uint64_t length = 0;
    if (size_ < sizeof(length)) fail(fmt::format("expected a safetensors file, found only {} bytes", size_));
    read_bytes(&length, sizeof(length));
    if (length > kLongestHeader) {
      fail(fmt::format("expected a header of at most {} bytes, found a length of {}", kLongestHeader, length));
    }
    if (length > size_ - sizeof(length)) {
      fail(
          fmt::format("expected a header of {} bytes, found {} (the file is cut off)", length, size_ - sizeof(length)));
    }
    data_begin_ = sizeof(length) + length;
    std::string text(length, '\0');
    read_bytes(text.data(), length);
    // The parser would take a zero byte for the end, and whatever follows would go unseen.
    if (text.find('\0') != std::string::npos) fail("expected a header of JSON, found a zero byte in it");
    if (text.empty() || text.front() != '{') fail("expected a header that begins with '{', found something else");
    return parse(text);
  }

  /// JSON leaves open what a name that comes twice means; here it means damage.
  Json parse(const std::string& text) const {
    std::vector<std::set<std::string>> names;
    std::string twice;
    const auto notice = [&](int, nlohmann::detail::parse_event_t event, Json& value) {
      using Event = nlohmann::detail::parse_event_t;
      if (event == Event::object_start) names.emplace_back();
      if (event == Event::object_end) names.pop_back();
      if (event == Event::key && !names.back().insert(value.get<std::string>()).second) twice = value;
      return true;
    };
    try {
      Json header = Json::parse(text, notice);
      if (!twice.empty()) fail(fmt::format("expected every name once in the header, found '{}' twice", twice));
      return header;
    } catch (const Json::exception& error) {
      fail(fmt::format("expected a header of JSON, found what is not ({})", error.what()));
    }
  }

  Metadata metadata_of(const Json& value) const {
    if (!value.is_object()) fail(fmt::format("expected {} to be an object of strings", kMetadataKey));
    Metadata metadata;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(fmt::format("expected {} '{}' to be a string", kMetadataKey, key));
      metadata[key] = text.get<std::string>();
    }
    return metadata;
  }

  Entry entry_of(const std::string& name, const Json& value) const {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets")) {
      fail(name, "expected an object of dtype, shape and data_offsets");
    }
    Entry entry{.name = name, .type = {}, .shape = {}, .begin = 0, .end = 0};
    const auto& type = value["dtype"];
    const auto known = type.is_string() ? type_of_safetensors_name(type.get<std::string>()) : std::nullopt;
    if (!known)
      fail(name, fmt::format("expected one of the types {}, found {}", known_safetensors_types(), type.dump()));
    entry.type = *known;
    for (const uint64_t side : numbers_of(name, "shape", value["shape"])) {
      entry.shape.push_back(static_cast<int64_t>(side));
    }
    const auto places = numbers_of(name, "data_offsets", value["data_offsets"]);
    if (places.size() != 2 || places[0] > places[1]) {
      fail(name, fmt::format("expected data_offsets of begin and end, found {}", value["data_offsets"].dump()));
    }
    entry.begin = places[0];
    entry.end = places[1];
    return entry;
  }

  /// Numbers below 2^62, so that they fit every integer type here.
  std::vector<uint64_t> numbers_of(const std::string& name, const char* key, const Json& value) const {
    std::vector<uint64_t> numbers;
    bool good = value.is_array();
    for (size_t i = 0; good && i < value.size(); ++i) {
      good = value[i].is_number_unsigned() && value[i].get<uint64_t>() < uint64_t{1} << 62;
      if (good) numbers.push_back(value[i].get<uint64_t>());
    }
    if (!good) fail(name, fmt::format("expected {} to be an array of whole numbers, found {}", key, value.dump()));
    return numbers;
  }

  /// Each tensor's place has the size that its shape asks for, and together they are all that follows the header.
  void check_places(const std::vector<Entry>& entries) const {
    std::vector<const Entry*> in_order;
    for (const auto& entry : entries) {
      const uint64_t bytes = bytes_of(entry);
      if (entry.end - entry.begin != bytes) {
        fail(entry.name, fmt::format("expected {} bytes for its shape, found {}", bytes, entry.end - entry.begin));
      }
      in_order.push_back(&entry);
    }
    std::sort(in_order.begin(), in_order.end(),
              [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
    uint64_t end = 0;
    for (const Entry* entry : in_order) {
      if (entry->begin != end) {
        fail(entry->name, fmt::format("expected its bytes to begin at {}, behind the tensor before, found {} ({})", end,
                                      entry->begin, entry->begin < end ? "they overlap" : "there is a gap"));
      }
      end = entry->end;
    }
    const uint64_t found = size_ - data_begin_;
    if (found != end) {
      fail(fmt::format("expected {} bytes of tensors, found {} ({})", end, found,
                       found < end ? "the file is cut off" : "something follows them"));
    }
  }

  uint64_t bytes_of(const Entry& entry) const {
    uint64_t bytes = c10::elementSize(entry.type);
    for (const int64_t side : entry.shape) {
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(side), &bytes))
        fail(entry.name, "its shape is too large");
    }
    return bytes;
  }

  torch::Tensor read_tensor(const Entry& entry) {
    torch::Tensor tensor = torch::empty(entry.shape, entry.type);
    stream_.seekg(static_cast<std::streamoff>(data_begin_ + entry.begin));
    read_bytes(tensor.mutable_data_ptr(), entry.end - entry.begin);
    if (entry.type == torch::kBool) {
      const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
      if (std::any_of(bytes, bytes + tensor.numel(), [](uint8_t byte) { return byte > 1; })) {
        fail(entry.name, "expected bytes of 0 and 1 for BOOL, found another");
      }
    }
    return tensor;
  }

  std::filesystem::path file_;
  std::ifstream stream_;
  uint64_t size_ = 0;
  uint64_t data_begin_ = 0;
};

}  // namespace

TensorFile read_safetensors(const std::filesystem::path& file) { return SafetensorsReader(file).read(); }

}  // namespace samplenorm::train
