#pragma once

// Each result of a study in a file of its own, which is there whole or not at all: folders of several machines are
// merged by copying, and programs that work side by side add files without knowing of each other.

#include "record/study_file.h"

namespace samplenorm::record {

class ResultFiles : public StudyResults {
 public:
  /// The files of FOLDER/STUDY. Throws Error, as all of these do, also if one of them is of another scale or has other
  /// "settings".
  ResultFiles(const std::filesystem::path& folder, std::string study, std::string scale, nlohmann::json description);

  /// Looks into the folder each time: others may have added it meanwhile. Of several results in a file the first.
  std::optional<nlohmann::json> find(const std::string& id) const override;
  /// `fields`: of the result, or a list of several, which have ids of their own. A list under "history" becomes lines
  /// of kind "epoch" before them.
  void add(const std::string& id, nlohmann::json fields) override;
  const std::filesystem::path& path() const override { return folder_; }

 private:
  std::filesystem::path file_of(const std::string& id) const;

  std::filesystem::path folder_;
  std::string study_, scale_;
  nlohmann::json description_;
};

/// A name for files and folders: "FS-1/64, seed 1" becomes "FS-1_64_seed_1".
std::string file_name(const std::string& id);

}  // namespace samplenorm::record
