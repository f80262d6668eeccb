#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>

#include "record/output_file.h"
#include "samplenorm/error.h"
#include "train/checkpoint.h"

namespace samplenorm::train {
namespace {

struct Found {
  int64_t epoch;
  int64_t step;
  bool part;  ///< not finished
  std::filesystem::path path;
};

/// Takes `word` from the begin of `text`, if it begins so.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

/// Takes the digits from the begin of `text`, if there are any.
bool take(std::string_view& text, int64_t& number) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc();
}

/// Oldest first. By number and not by name, since a number may outgrow its zeros.
std::vector<Found> checkpoints_in(const std::filesystem::path& folder) {
  std::vector<Found> all;
  std::error_code not_there;
  for (const auto& entry : std::filesystem::directory_iterator(folder, not_there)) {
    const std::string name = entry.path().filename().string();
    std::string_view rest = name;
    Found found{0, 0, false, entry.path()};
    if (!take(rest, "checkpoint-") || !take(rest, found.epoch) || !take(rest, "-") || !take(rest, found.step)) continue;
    if (!take(rest, ".safetensors")) continue;
    found.part = take(rest, ".part");
    std::error_code gone;
    if (rest.empty() && entry.is_regular_file(gone)) all.push_back(std::move(found));
  }
  std::sort(all.begin(), all.end(),
            [](const Found& a, const Found& b) { return std::tie(a.epoch, a.step) < std::tie(b.epoch, b.step); });
  return all;
}

void remove(const Found& found) {
  std::error_code nothing_lost;  // what cannot be removed only takes up space
  std::filesystem::remove(found.path, nothing_lost);
}

/// What a killed run was writing. Called before a new file is written, which may need the space.
void remove_parts(const std::filesystem::path& folder) {
  for (const auto& found : checkpoints_in(folder)) {
    if (found.part) remove(found);
  }
}

/// Removes all but `saved` and the one before it.
void remove_others(const std::filesystem::path& folder, const std::filesystem::path& saved) {
  const auto all = checkpoints_in(folder);
  const Found* before = nullptr;
  for (const auto& found : all) {
    if (found.path == saved) break;
    before = &found;
  }
  for (const auto& found : all) {
    if (found.path != saved && &found != before) remove(found);
  }
}

/// One sentence that names the file. Error does so itself; libtorch and the standard library, which a damaged size can
/// ask for more memory than there is, do not.
std::string problem_with(const std::filesystem::path& file, const std::exception& error) {
  if (dynamic_cast<const Error*>(&error) != nullptr) return error.what();
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  return fmt::format("{}: cannot be read: {}", file.string(), text.substr(0, text.find('\n')));
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

std::filesystem::path CheckpointFolder::save(const Checkpoint& checkpoint) {
  std::error_code code;
  std::filesystem::create_directories(folder_, code);
  if (code) throw Error(fmt::format("cannot make the folder {}: {}", folder_.string(), code.message()));
  const auto file = folder_ / fmt::format("checkpoint-{:05}-{:08}.safetensors", checkpoint.epoch, checkpoint.step);
  remove_parts(folder_);
  write_checkpoint(file, checkpoint);
  remove_others(folder_, file);
  return file;
}

std::optional<Checkpoint> CheckpointFolder::newest(const std::function<void(const std::string&)>& warn) const {
  const auto all = files();
  for (auto file = all.rbegin(); file != all.rend(); ++file) {
    try {
      return read_checkpoint(*file);
    } catch (const std::exception& error) {
      const bool last = file + 1 == all.rend();
      warn(fmt::format("{}; {}", problem_with(*file, error),
                       last ? "there is none before it" : "the one before it is used"));
    }
  }
  return std::nullopt;
}

std::vector<std::filesystem::path> CheckpointFolder::files() const {
  std::vector<std::filesystem::path> paths;
  for (const auto& found : checkpoints_in(folder_)) {
    if (!found.part) paths.push_back(found.path);
  }
  return paths;
}

}  // namespace samplenorm::train
