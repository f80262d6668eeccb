#pragma once

// Files that are written so that a crash, a kill or a full disk cannot spoil what was there before.

#include <filesystem>
#include <string_view>

namespace samplenorm::record {

/// A file that is open for writing. Nothing is buffered: what write() took is with the operating system.
class OutputFile {
 public:
  enum class Mode {
    kNew,     ///< the file must not exist
    kAppend,  ///< the file is made if it does not exist
  };
  /// Throws Error, as all of these do, with the name of the file and the reason.
  OutputFile(std::filesystem::path path, Mode mode);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  /// What was written is on the disk when it returns.
  void sync();
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_;
};

/// What is appended to a file's name while it is being written.
inline constexpr std::string_view kPartSuffix = ".part";

/// A file that is there whole or not at all: written as "<path>.part", then renamed.
class AtomicFile {
 public:
  /// Takes the place of a ".part" that an earlier process left behind.
  explicit AtomicFile(std::filesystem::path path);
  /// Removes what was not committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes) { part_.write(bytes); }
  /// Replaces the file at `path`; both the content and the name are on the disk when it returns. To be called once.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path part_path_;
  OutputFile part_;
  bool committed_ = false;
};

/// Makes a folder with all above it, unless it is there.
void make_folder(const std::filesystem::path& folder);

/// A file's new, renamed or removed entry in `folder` is on the disk when it returns.
void sync_folder(const std::filesystem::path& folder);

}  // namespace samplenorm::record
