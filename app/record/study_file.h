#pragma once

// One study = one file of JSON lines: docs/studies-format.md.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/output_file.h"

namespace samplenorm::record {

/// A study's results, each with the number of the program run, in `begins`, that made it.
struct StudyRecords {
  std::string study;
  std::string scale;
  std::vector<nlohmann::json> begins;
  struct Result {
    nlohmann::json fields;
    size_t begin;
  };
  std::vector<Result> results;
};

/// Throws Error with file and line for what is not such a file. A last line without an end, which a killed study was
/// about to write, is left out.
StudyRecords read_study(const std::filesystem::path& file);

/// All studies in a folder, by name.
std::vector<StudyRecords> read_studies(const std::filesystem::path& folder);

/// Takes results one by one; what was added is on the disk.
class StudyFile {
 public:
  /// Opens FOLDER/STUDY.jsonl, which is made if it is not there, and writes a begin with the fields of `description`.
  /// Throws Error, as all of these do, also where the file is of another scale or has other "settings".
  StudyFile(const std::filesystem::path& folder, const std::string& study, const std::string& scale,
            const nlohmann::json& description);

  bool has(const std::string& id) const { return ids_.contains(id); }
  void add(const std::string& id, nlohmann::json fields);
  const std::filesystem::path& path() const { return path_; }

 private:
  void begin(const std::string& study, const std::string& scale, const nlohmann::json& description);
  void write(const nlohmann::json& line);

  std::filesystem::path path_;
  std::set<std::string> ids_;
  std::optional<OutputFile> file_;
};

}  // namespace samplenorm::record
