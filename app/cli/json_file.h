#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>

namespace samplenorm::cli {

/// A JSON file that is there whole or not at all: written beside its place, then renamed.
class JsonFile {
 public:
  /// Opens it at once, so that a wrong path is found before the work and not behind it. Throws Error.
  explicit JsonFile(std::filesystem::path path);
  /// Removes what was not finished.
  ~JsonFile();
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

  /// Throws Error. To be called once.
  void write(const nlohmann::json& content);

 private:
  std::filesystem::path path_;
  std::filesystem::path beside_;
  std::ofstream stream_;
};

}  // namespace samplenorm::cli
