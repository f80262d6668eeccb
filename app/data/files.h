#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace samplenorm::data {

/// A whole file. Throws Error.
std::vector<uint8_t> read_file(const std::filesystem::path& file);

/// Written beside its place and renamed, so that it is there whole or not at all. Throws Error.
void write_file(const std::filesystem::path& file, const std::vector<uint8_t>& content);

/// A new folder that goes away, with what is in it, at the end.
class TemporaryFolder {
 public:
  /// Named `prefix` and some letters. Throws Error.
  explicit TemporaryFolder(const std::filesystem::path& prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Makes a folder and those above it. Throws Error.
void make_folder(const std::filesystem::path& folder);

}  // namespace samplenorm::data
