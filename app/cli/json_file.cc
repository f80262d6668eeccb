#include "cli/json_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "samplenorm/error.h"

namespace samplenorm::cli {
namespace {

/// /dev/stdout and its like must not be replaced by a file.
bool can_be_replaced(const std::filesystem::path& path) {
  return !std::filesystem::exists(path) || std::filesystem::is_regular_file(path);
}

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

}  // namespace

JsonFile::JsonFile(std::filesystem::path path) : path_(std::move(path)), beside_(path_) {
  if (can_be_replaced(path_)) beside_ += fmt::format(".{}.part", getpid());
  stream_.open(beside_);
  if (!stream_) fail(path_);
}

JsonFile::~JsonFile() {
  std::error_code nothing_to_do_about_it;
  if (beside_ != path_) std::filesystem::remove(beside_, nothing_to_do_about_it);
}

void JsonFile::write(const nlohmann::json& content) {
  stream_ << content.dump(2) << '\n';
  stream_.close();
  if (!stream_) fail(path_);
  if (beside_ != path_) std::filesystem::rename(beside_, path_);
}

}  // namespace samplenorm::cli
