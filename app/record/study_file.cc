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

/// To be counted up when a reader of today would take a record of tomorrow for something else.
constexpr int64_t kSchema = 1;

/// A line's text field, which must be there.
std::string text_of(const json& line, const char* key) {
  if (!line.contains(key) || !line[key].is_string()) throw Error(fmt::format("expected a text '{}'", key));
  return line[key].get<std::string>();
}

void take_begin(StudyRecords& records, const json& line) {
  const std::string study = text_of(line, "study"), scale = text_of(line, "scale");
  const json schema = line.value("schema", json(kSchema));
  if (schema != kSchema)
    throw Error(fmt::format("expected records of schema {}, got schema {}: they are of another version of the program",
                            kSchema, schema.dump()));
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
  if (kind == "epoch") return;  // how a run went, for people and other programs
  throw Error(fmt::format("expected a line of kind 'begin', 'epoch' or 'result', got '{}'", kind));
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

/// Sorted by name.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::error_code failure;
  std::vector<std::filesystem::path> entries;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure))
    entries.push_back(entry->path());
  if (failure) throw Error(fmt::format("cannot read {}: {}", folder.string(), failure.message()));
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// Adds the records of one more file of a study to those of the files before it.
void append(StudyRecords& all, StudyRecords more, const std::filesystem::path& file) {
  if (all.begins.empty()) {
    all.study = more.study;
    all.scale = more.scale;
  }
  if (more.study != all.study || more.scale != all.scale)
    throw Error(fmt::format("{} holds the {} study '{}' and stands among files of the {} study '{}'", file.string(),
                            more.scale, more.study, all.scale, all.study));
  for (auto& result : more.results) {
    result.begin += all.begins.size();
    all.results.push_back(std::move(result));
  }
  all.begins.insert(all.begins.end(), more.begins.begin(), more.begins.end());
}

std::optional<StudyRecords> curves_of(const StudyRecords& records) {
  if (records.study != "accuracy") return {};
  StudyRecords curves{.study = "curves", .scale = records.scale, .begins = records.begins, .results = {}};
  for (const auto& result : records.results)
    if (result.fields.contains("losses")) curves.results.push_back(result);
  return curves.results.empty() ? std::nullopt : std::optional(std::move(curves));
}

}  // namespace

std::vector<std::filesystem::path> study_files_in(const std::filesystem::path& folder) {
  auto files = entries_of(folder);
  std::erase_if(files, [](const auto& file) { return file.extension() != kStudySuffix; });
  return files;
}

void check_same_study(const StudyRecords& there, const std::filesystem::path& file, const std::string& study,
                      const std::string& scale, const json& description) {
  if (there.study != study || there.scale != scale)
    throw Error(fmt::format("{} holds the {} study '{}'; for the {} study '{}' give another folder with --out",
                            file.string(), there.scale, there.study, scale, study));
  if (settings_of(there.begins.back()) != settings_of(description))
    throw Error(fmt::format("{} was made with other settings ({}); for {} give another folder with --out",
                            file.string(), settings_of(there.begins.back()), settings_of(description)));
}

nlohmann::json begin_line(const std::string& study, const std::string& scale, const json& description) {
  json line{{"kind", "begin"}, {"study", study}, {"scale", scale}, {"schema", kSchema}};
  if (!description.is_null()) line.update(description);
  return line;
}

std::string to_text(const json& line) {
  return line.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace) + "\n";
}

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
  std::vector<StudyRecords> studies;
  for (const auto& file : study_files_in(folder)) studies.push_back(read_study(file));
  for (const auto& entry : entries_of(folder)) {
    if (!std::filesystem::is_directory(entry)) continue;
    StudyRecords all;
    for (const auto& file : study_files_in(entry)) append(all, read_study(file), file);
    if (!all.begins.empty()) studies.push_back(std::move(all));
  }
  for (size_t i = 0, count = studies.size(); i < count; ++i)
    if (auto curves = curves_of(studies[i])) studies.push_back(std::move(*curves));
  std::stable_sort(studies.begin(), studies.end(), [](const auto& a, const auto& b) { return a.study < b.study; });
  return studies;
}

StudyFile::StudyFile(const std::filesystem::path& folder, const std::string& study, const std::string& scale,
                     const json& description)
    : path_(folder / (study + kStudySuffix)), begin_(begin_line(study, scale, description)) {
  if (!std::filesystem::exists(path_) || whole_lines(path_) == 0) return;
  const auto there = read_study(path_);
  check_same_study(there, path_, study, scale, description);
  for (const auto& result : there.results) results_[result.fields["id"].get<std::string>()] = result.fields;
}

void StudyFile::open() {
  make_folder(path_.parent_path());
  const auto whole = std::filesystem::exists(path_) ? whole_lines(path_) : 0;
  file_.emplace(path_, OutputFile::Mode::kAppend);
  std::error_code failure;
  std::filesystem::resize_file(path_, whole, failure);
  if (failure) throw Error(fmt::format("cannot write {}: {}", path_.string(), failure.message()));
  write(begin_);
}

std::optional<json> StudyFile::find(const std::string& id) const {
  const auto found = results_.find(id);
  return found == results_.end() ? std::nullopt : std::optional(found->second);
}

void StudyFile::add(const std::string& id, json fields) {
  if (!file_) open();
  fields["kind"] = "result";
  fields["id"] = id;
  write(fields);
  results_[id] = std::move(fields);
}

void StudyFile::write(const json& line) {
  file_->write(to_text(line));
  file_->sync();
}

}  // namespace samplenorm::record
