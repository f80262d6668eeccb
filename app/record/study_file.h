#pragma once

// A study's results as JSON lines: docs/studies-format.md. They stand in one file, or in one file each.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
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

/// All studies in a folder, by name: those in one file, and those of which each result is a file in a folder of the
/// study's name. Runs of `accuracy` that have their curves are the study `curves`, too.
std::vector<StudyRecords> read_studies(const std::filesystem::path& folder);

/// Takes results one by one; what was added is on the disk.
class StudyResults {
 public:
  virtual ~StudyResults() = default;
  /// What add() got for this id, if it did. Throws Error, as all of these do.
  virtual std::optional<nlohmann::json> find(const std::string& id) const = 0;
  virtual void add(const std::string& id, nlohmann::json fields) = 0;
  /// The file, or the folder of the files.
  virtual const std::filesystem::path& path() const = 0;
  bool has(const std::string& id) const { return find(id).has_value(); }
};

/// All results in one file.
class StudyFile : public StudyResults {
 public:
  /// Reads FOLDER/STUDY.jsonl. The first add() makes it if it is not there, and writes a begin with the fields of
  /// `description`. Throws Error, as all of these do, also where the file is of another scale or has other "settings".
  StudyFile(const std::filesystem::path& folder, const std::string& study, const std::string& scale,
            const nlohmann::json& description);

  std::optional<nlohmann::json> find(const std::string& id) const override;
  void add(const std::string& id, nlohmann::json fields) override;
  const std::filesystem::path& path() const override { return path_; }

 private:
  void open();
  void write(const nlohmann::json& line);

  std::filesystem::path path_;
  nlohmann::json begin_;
  std::map<std::string, nlohmann::json> results_;
  std::optional<OutputFile> file_;
};

// What files of results have in common.

inline constexpr const char* kStudySuffix = ".jsonl";
/// The files of results in a folder, sorted by name.
std::vector<std::filesystem::path> study_files_in(const std::filesystem::path& folder);
/// Throws Error, which names the file, for results of another study or scale or of other settings.
void check_same_study(const StudyRecords& there, const std::filesystem::path& file, const std::string& study,
                      const std::string& scale, const nlohmann::json& description);
nlohmann::json begin_line(const std::string& study, const std::string& scale, const nlohmann::json& description);
/// With the line's end.
std::string to_text(const nlohmann::json& line);

}  // namespace samplenorm::record
