#include "record/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "samplenorm/error.h"

namespace samplenorm::record {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int code) {
  throw Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(code)));
}

std::filesystem::path part_of(std::filesystem::path path) {
  path += kPartSuffix;
  std::error_code not_there;
  std::filesystem::remove(path, not_there);
  return path;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, Mode mode) : path_(std::move(path)) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (mode == Mode::kNew ? O_EXCL : O_APPEND);
  descriptor_ = ::open(path_.c_str(), flags, 0666);
  if (descriptor_ < 0) fail(path_, errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void OutputFile::sync() {
  // EINVAL: a pipe or a device, which has nothing to sync.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(path_, errno);
}

void OutputFile::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  // Some file systems find out only now that the disk is full.
  if (::close(descriptor) != 0) fail(path_, errno);
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), part_path_(part_of(path_)), part_(part_path_, OutputFile::Mode::kNew) {}

AtomicFile::~AtomicFile() {
  std::error_code nothing_to_do_about_it;
  if (!committed_) std::filesystem::remove(part_path_, nothing_to_do_about_it);
}

void AtomicFile::commit() {
  // The content must reach the disk before the name does, or a power cut could leave an empty file under that name.
  part_.sync();
  part_.close();
  if (std::rename(part_path_.c_str(), path_.c_str()) != 0) fail(path_, errno);
  committed_ = true;
  sync_folder(path_.parent_path());
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) throw Error(fmt::format("cannot make the folder {}: {}", folder.string(), code.message()));
}

void sync_folder(const std::filesystem::path& folder) {
  const std::filesystem::path name = folder.empty() ? "." : folder;
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail(name, errno);
  const int code = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // EINVAL: a file system that cannot sync folders.
  if (code != 0 && code != EINVAL) fail(name, code);
}

}  // namespace samplenorm::record
