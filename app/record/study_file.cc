#include "record/study_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "samplenorm/error.h"

namespace samplenorm::record {
namespace {

using nlohmann::json;

constexpr const char* kSuffix = ".jsonl";

/// A line's text field, which must be there.
std::string text_of(const json& line, const char* key) {
  if (!line.contains(key) || !line[key].is_string()) throw Error(fmt::format("expected a text '{}'", key));
  return line[key].get<std::string>();
}

void take_begin(StudyRecords& records, const json& line) {
  const std::string study = text_of(line, "study"), scale = text_of(line, "scale");
  if (records.begins.empty()) {
    records.study = study;
    records.scale = scale;
  }
  if (study != records.study || scale != records.scale)
    throw Error(fmt::format("expected a begin of the {} study '{}', got the {} study '{}'", records.scale,
                            records.study, scale, study));
  records.begins.push_back(line);
}

void take_result(StudyRecords& records, const json& line) {
  if (records.begins.empty()) throw Error("expected a line of kind 'begin' before results");
  text_of(line, "id");
  records.results.push_back({line, records.begins.size() - 1});
}

void take_line(StudyRecords& records, const std::string& text) {
  const json line = json::parse(text, /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) throw Error("expected a JSON object");
  const std::string kind = text_of(line, "kind");
  if (kind == "begin") return take_begin(records, line);
  if (kind == "result") return take_result(records, line);
  throw Error(fmt::format("expected a line of kind 'begin' or 'result', got '{}'", kind));
}

std::string settings_of(const json& description) {
  return description.is_object() ? description.value("settings", "") : "";
}

/// Of a file that may end within a line: the bytes of its whole lines.
std::uintmax_t whole_lines(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::uintmax_t bytes = 0;
  for (std::string line; std::getline(stream, line) && !stream.eof();) bytes += line.size() + 1;
  return bytes;
}

}  // namespace

StudyRecords read_study(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
  StudyRecords records;
  std::string line;
  for (int64_t number = 1; std::getline(stream, line) && !stream.eof(); ++number) {
    try {
      take_line(records, line);
    } catch (const Error& error) {
      throw Error(fmt::format("{}:{}: {}", file.string(), number, error.what()));
    }
  }
  if (stream.bad()) throw Error(fmt::format("cannot read {} to its end: {}", file.string(), std::strerror(errno)));
  if (records.begins.empty())
    throw Error(fmt::format("{}: expected the records of a study, found none", file.string()));
  return records;
}

std::vector<StudyRecords> read_studies(const std::filesystem::path& folder) {
  std::error_code failure;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure))
    if (entry->path().extension() == kSuffix) files.push_back(entry->path());
  if (failure) throw Error(fmt::format("cannot read {}: {}", folder.string(), failure.message()));
  std::sort(files.begin(), files.end());
  std::vector<StudyRecords> studies;
  for (const auto& file : files) studies.push_back(read_study(file));
  return studies;
}

StudyFile::StudyFile(const std::filesystem::path& folder, const std::string& study, const std::string& scale,
                     const json& description)
    : path_(folder / (study + kSuffix)) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw Error(fmt::format("cannot make {}: {}", folder.string(), failure.message()));
  const auto whole = std::filesystem::exists(path_) ? whole_lines(path_) : 0;
  if (whole > 0) {
    const auto there = read_study(path_);
    if (there.study != study || there.scale != scale)
      throw Error(fmt::format("{} holds the {} study '{}'; for the {} study '{}' give another folder with --out",
                              path_.string(), there.scale, there.study, scale, study));
    if (settings_of(there.begins.back()) != settings_of(description))
      throw Error(fmt::format("{} was made with other settings ({}); for {} give another folder with --out",
                              path_.string(), settings_of(there.begins.back()), settings_of(description)));
    for (const auto& result : there.results) ids_.insert(result.fields["id"].get<std::string>());
  }
  file_.emplace(path_, OutputFile::Mode::kAppend);
  std::filesystem::resize_file(path_, whole, failure);
  if (failure) throw Error(fmt::format("cannot write {}: {}", path_.string(), failure.message()));
  begin(study, scale, description);
}

void StudyFile::begin(const std::string& study, const std::string& scale, const json& description) {
  json line{{"kind", "begin"}, {"study", study}, {"scale", scale}};
  if (!description.is_null()) line.update(description);
  write(line);
}

void StudyFile::add(const std::string& id, json fields) {
  fields["kind"] = "result";
  fields["id"] = id;
  write(fields);
  ids_.insert(id);
}

void StudyFile::write(const json& line) {
  file_->write(line.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace) + "\n");
  file_->sync();
}

}  // namespace samplenorm::record
