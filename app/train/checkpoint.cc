#include "train/checkpoint.h"

#include <fmt/format.h>
#include <zlib.h>

#include <charconv>
#include <string_view>

#include "samplenorm/error.h"

namespace samplenorm::train {
namespace {

constexpr const char* kFormatVersion = "1";
constexpr const char* kChecksum = "checksum";

class Crc {
 public:
  void add(const void* bytes, size_t count) {
    // zlib takes a null pointer, which an empty tensor has, for a request to begin anew.
    if (count > 0) crc_ = crc32_z(crc_, static_cast<const Bytef*>(bytes), count);
  }
  /// With its length, so that moving a letter from one text to the next is noticed.
  void add(std::string_view text) {
    const uint64_t length = text.size();
    add(&length, sizeof(length));
    add(text.data(), text.size());
  }
  std::string hex() const { return fmt::format("{:08x}", crc_); }

 private:
  uLong crc_ = crc32_z(0, nullptr, 0);
};

/// Of everything that the file says: the tensors with their names, types and shapes, and the metadata but for the
/// checksum. Tensors must be contiguous.
std::string checksum_of(const TensorFile& content) {
  Crc crc;
  for (const auto& [key, value] : content.metadata) {
    if (key == kChecksum) continue;
    crc.add(key);
    crc.add(value);
  }
  for (const auto& [name, tensor] : content.tensors) {
    crc.add(name);
    crc.add(safetensors_type(tensor.scalar_type()));
    crc.add(tensor.sizes().data(), tensor.sizes().size() * sizeof(int64_t));
    crc.add(tensor.const_data_ptr(), tensor.nbytes());
  }
  return crc.hex();
}

int64_t number_of(const std::filesystem::path& file, const std::string& key, const std::string& text) {
  int64_t number = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < 0) {
    throw Error(
        fmt::format("{}: expected the metadata '{}' to be a whole number, found '{}'", file.string(), key, text));
  }
  return number;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
  TensorFile content;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    content.tensors.emplace_back(name, tensor.detach().cpu().contiguous());
  }
  content.metadata = {{"format", "pt"},  // by which Python's libraries know whose tensors these are
                      {"format_version", kFormatVersion},
                      {"model", checkpoint.model},
                      {"recipe", checkpoint.recipe},
                      {"epoch", std::to_string(checkpoint.epoch)},
                      {"step", std::to_string(checkpoint.step)}};
  content.metadata[kChecksum] = checksum_of(content);
  write_safetensors(file, content);
}

Checkpoint read_checkpoint(const std::filesystem::path& file) {
  TensorFile content = read_safetensors(file);
  const auto metadata = [&](const std::string& key) -> const std::string& {
    const auto found = content.metadata.find(key);
    if (found != content.metadata.end()) return found->second;
    throw Error(
        fmt::format("{}: expected a checkpoint of samplenorm, found no '{}' in its metadata", file.string(), key));
  };
  if (metadata("format_version") != kFormatVersion) {
    throw Error(fmt::format("{}: expected a checkpoint of format {}, found format '{}'", file.string(), kFormatVersion,
                            metadata("format_version")));
  }
  if (const std::string found = checksum_of(content); found != metadata(kChecksum)) {
    throw Error(fmt::format("{}: expected content with the checksum {}, found {} (the file is damaged)", file.string(),
                            metadata(kChecksum), found));
  }
  return {.tensors = std::move(content.tensors),
          .model = metadata("model"),
          .recipe = metadata("recipe"),
          .epoch = number_of(file, "epoch", metadata("epoch")),
          .step = number_of(file, "step", metadata("step"))};
}

}  // namespace samplenorm::train
