#pragma once

// Studies: each reproduces a table or a figure of the paper and writes one file of records (docs/studies-format.md). A
// study that was stopped goes on: results that are there are not made again.

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/study_file.h"
#include "train/trainer.h"

namespace samplenorm::study {

/// Empty lists, empty texts and zeros: what the study has by its scale.
struct StudyOptions {
  bool full = false;  ///< the paper's own schedule and sizes; else minutes on two cores
  std::filesystem::path folder;
  std::vector<std::string> norms = {};
  std::vector<std::string> models = {};
  int64_t seeds = 0;
  int64_t batch = 0;  ///< of studies that time steps
  int64_t side = 0;   ///< of their images
  std::string data = "cifar10";
  std::string data_folder = {};
  std::vector<std::pair<std::string, std::string>> recipe = {};  ///< fields of recipes to be changed
  nlohmann::json description = {};                               ///< of the program run, for the records
  std::function<bool()> stop_asked = [] { return false; };
};

/// Hears how a study goes. By default nothing is done.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// Task `number`, from 1, of `total` begins.
  virtual void on_task(const std::string& /*name*/, size_t /*number*/, size_t /*total*/) {}
  /// Within a task.
  virtual void on_progress(int64_t /*done*/, int64_t /*total*/, const std::string& /*what*/) {}
  /// A task's result in words.
  virtual void on_result(const std::string& /*sentence*/) {}
  virtual void on_warning(const std::string& /*sentence*/) {}
};

/// A study while it runs.
class Study {
 public:
  Study(const std::string& name, const StudyOptions& options, Watcher& watcher);

  /// One result: its id, and what makes its fields, unless it is there already.
  struct Task {
    std::string id;
    std::function<nlohmann::json()> make;
  };
  /// Does the tasks that are not done. False if it was asked to stop before the end.
  bool run(const std::vector<Task>& tasks);

  /// Throws StopAsked if it was asked to stop: for use between the parts of a task.
  void check_stop() const;
  const StudyOptions& options() const { return options_; }
  Watcher& watcher() { return watcher_; }
  const std::filesystem::path& file() const { return file_.path(); }

 private:
  StudyOptions options_;
  Watcher& watcher_;
  record::StudyFile file_;
};

/// Ends a task without a result.
struct StopAsked {};

struct StudyInfo {
  const char* name;
  const char* paper;  ///< "Fig. 3, Table 2"
  const char* what;
  bool trains;  ///< whether it needs a data set
  std::vector<Study::Task> (*tasks)(Study&);
};
/// In the order of the paper.
const std::vector<StudyInfo>& studies();
/// Throws Error, with the known names.
const StudyInfo& find_study(const std::string& name);

struct StudyResult {
  bool stopped = false;
  std::filesystem::path file;
};
StudyResult run_study(const StudyInfo& info, const StudyOptions& options, Watcher& watcher);

}  // namespace samplenorm::study
