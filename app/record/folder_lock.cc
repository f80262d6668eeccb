#include "record/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "record/output_file.h"
#include "samplenorm/error.h"

namespace samplenorm::record {
namespace {

/// What the owner wrote: its number and its command.
struct Owner {
  int64_t process = 0;
  std::string command = "unknown";
};

Owner read_owner(const std::filesystem::path& file) {
  Owner owner;
  std::ifstream stream(file);
  std::string number;
  if (std::getline(stream, number)) std::from_chars(number.data(), number.data() + number.size(), owner.process);
  std::getline(stream, owner.command);
  return owner;
}

int open_lock(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw Error(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
  return descriptor;
}

bool lock(int descriptor, int how) {
  int result = 0;
  do {
    result = ::flock(descriptor, how);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, const std::string& command, Wait wait) {
  make_folder(folder);
  const auto file = folder / kLockFile;
  descriptor_ = open_lock(file);
  if (!lock(descriptor_, wait == Wait::kYes ? LOCK_EX : LOCK_EX | LOCK_NB)) {
    const int code = errno;
    ::close(descriptor_);
    if (code != EWOULDBLOCK) throw Error(fmt::format("cannot lock {}: {}", file.string(), std::strerror(code)));
    const Owner owner = read_owner(file);
    throw Error(fmt::format("process {} ({}) works in {}: wait for it, or give another folder with --out",
                            owner.process, owner.command, folder.string()));
  }
  const std::string text = fmt::format("{}\n{}\n", ::getpid(), command);
  // Who owns it is said to people only: that it cannot be written is no reason to stop.
  if (::ftruncate(descriptor_, 0) != 0 || ::write(descriptor_, text.data(), text.size()) < 0) return;
}

FolderLock::~FolderLock() { ::close(descriptor_); }

std::optional<int64_t> owner_of(const std::filesystem::path& folder) {
  const auto file = folder / kLockFile;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  const bool is_free = lock(descriptor, LOCK_SH | LOCK_NB);
  ::close(descriptor);
  return is_free ? std::nullopt : std::optional(read_owner(file).process);
}

}  // namespace samplenorm::record
