#include "record/result_files.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <utility>

#include "record/output_file.h"
#include "samplenorm/error.h"

namespace samplenorm::record {
namespace {

using nlohmann::json;

/// The task that a file holds the results of.
std::string task_of(const StudyRecords& records) { return records.begins.back().value("task", ""); }

}  // namespace

std::string file_name(const std::string& id) {
  std::string name;
  for (const char c : id) {
    const bool safe = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("-+.=", c) != nullptr;
    if (safe || !name.ends_with('_')) name += safe ? c : '_';
  }
  return name;
}

ResultFiles::ResultFiles(const std::filesystem::path& folder, std::string study, std::string scale, json description)
    : folder_(folder / study),
      study_(std::move(study)),
      scale_(std::move(scale)),
      description_(std::move(description)) {
  if (!std::filesystem::exists(folder_)) return;
  for (const auto& file : study_files_in(folder_))
    check_same_study(read_study(file), file, study_, scale_, description_);
}

std::filesystem::path ResultFiles::file_of(const std::string& id) const {
  return folder_ / (file_name(id) + kStudySuffix);
}

std::optional<json> ResultFiles::find(const std::string& id) const {
  const auto file = file_of(id);
  if (!std::filesystem::exists(file)) return {};
  const auto records = read_study(file);
  if (records.results.empty() || task_of(records) != id)
    throw Error(
        fmt::format("{}: expected the result of '{}', found that of '{}'", file.string(), id, task_of(records)));
  return records.results.front().fields;
}

void ResultFiles::add(const std::string& id, json fields) {
  json begin = begin_line(study_, scale_, description_);
  begin["task"] = id;
  std::string text = to_text(begin);
  auto results = fields.is_array() ? std::move(fields) : json::array({std::move(fields)});
  for (auto& result : results) {
    for (auto& epoch : result.value("history", json::array())) {
      epoch["kind"] = "epoch";
      text += to_text(epoch);
    }
    result.erase("history");
    result["kind"] = "result";
    if (!result.contains("id")) result["id"] = id;
    text += to_text(result);
  }
  make_folder(folder_);
  AtomicFile file(file_of(id));
  file.write(text);
  file.commit();
}

}  // namespace samplenorm::record
