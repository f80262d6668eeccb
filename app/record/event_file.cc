#include "record/event_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>

namespace samplenorm::record {
namespace {

// TensorBoard wants "tfevents" in the name and reads a folder's files in the order of their names.
constexpr std::string_view kPrefix = "events.out.tfevents.";

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// The number behind the prefix: the second in which the file was begun.
int64_t second_of(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  int64_t second = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), second);
  return second;
}

/// A second later than the last file's, even if the run is resumed at once or the clock was set back.
std::filesystem::path next_file(const std::filesystem::path& folder) {
  auto second = static_cast<int64_t>(now());
  for (const auto& file : event_files(folder)) second = std::max(second, second_of(file) + 1);
  return folder / fmt::format("{}{:010}.samplenorm", kPrefix, second);
}

}  // namespace

std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code not_there;
  for (const auto& entry : std::filesystem::directory_iterator(folder, not_there)) {
    if (entry.path().filename().string().starts_with(kPrefix)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

EventFile::EventFile(const std::filesystem::path& folder, std::optional<int64_t> restarted_at)
    : file_(next_file(folder), OutputFile::Mode::kNew) {
  file_.write(tf_record(version_event(now())));
  if (restarted_at) file_.write(tf_record(restart_event(now(), *restarted_at)));
}

void EventFile::add(int64_t step, const std::vector<Scalar>& scalars) {
  file_.write(tf_record(scalars_event(now(), step, scalars)));
}

}  // namespace samplenorm::record
