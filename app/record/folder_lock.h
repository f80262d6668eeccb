#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace samplenorm::record {

/// While it lives, its process alone works in a folder. The system lets go of the lock when the process ends, however
/// it ends, so that a lock whose owner is gone stands in nobody's way.
class FolderLock {
 public:
  enum class Wait { kNo, kYes };
  /// Makes the folder if needed. Where another process has the lock, waits for it, or throws Error that names it.
  FolderLock(const std::filesystem::path& folder, const std::string& command, Wait wait = Wait::kNo);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// The process that holds the lock of a folder; none if no process does.
std::optional<int64_t> owner_of(const std::filesystem::path& folder);

/// The file of a folder's lock.
inline constexpr const char* kLockFile = "lock";

}  // namespace samplenorm::record
