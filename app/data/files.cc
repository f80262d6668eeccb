#include "data/files.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "record/output_file.h"
#include "samplenorm/error.h"

namespace samplenorm::data {

std::vector<uint8_t> read_file(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const auto size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  // A folder opens, with a size that means nothing.
  if (size < 0 || std::filesystem::is_directory(file)) {
    throw Error(fmt::format("{}: expected a readable file, found: {}", file.string(),
                            std::strerror(errno == 0 ? EISDIR : errno)));
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!stream) throw Error(fmt::format("{}: expected {} bytes, found {}", file.string(), size, stream.gcount()));
  return bytes;
}

void write_file(const std::filesystem::path& file, const std::vector<uint8_t>& content) {
  record::AtomicFile output(file);
  output.write({reinterpret_cast<const char*>(content.data()), content.size()});
  output.commit();
}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& prefix) {
  std::string name = prefix.string() + ".XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("cannot make the folder {}: {}", name, std::strerror(errno)));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code nothing_to_do_about_it;
  std::filesystem::remove_all(path_, nothing_to_do_about_it);
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw Error(fmt::format("cannot make the folder {}: {}", folder.string(), failed.message()));
}

}  // namespace samplenorm::data
