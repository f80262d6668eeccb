#pragma once

// Studies: each reproduces a table or a figure of the paper and writes records (docs/studies-format.md): those that
// time things one file, those that train a file for each result. A study that was stopped goes on: results that are
// there are not made again.

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "record/study_file.h"
#include "train/trainer.h"

namespace samplenorm::study {

enum class Scale {
  kQuick,     ///< minutes on two cores: shows that everything works, and decides nothing
  kStandard,  ///< of studies that train: days on two cores, the scale of the published verdicts
  kFull,      ///< the paper's own schedule and sizes
};
const char* name_of(Scale scale);

/// Empty lists, empty texts and zeros: what the study has by its scale.
struct StudyOptions {
  Scale scale = Scale::kQuick;
  std::filesystem::path folder;
  std::vector<std::string> norms = {};
  std::vector<std::string> models = {};
  int64_t seeds = 0;
  int64_t batch = 0;  ///< of studies that time steps
  int64_t side = 0;   ///< of their images
  std::string data = "cifar10";
  std::string data_folder = {};
  std::vector<std::pair<std::string, std::string>> recipe = {};  ///< fields of recipes to be changed
  nlohmann::json description = nlohmann::json::object();         ///< of the program run, for the records
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
  enum class Form { kOneFile, kFileEach };
  /// `records`: the name of its records.
  Study(const std::string& records, const StudyOptions& options, Watcher& watcher, Form form = Form::kOneFile);

  /// One result (or a list of several): its id, and what makes its fields, unless it is there already.
  struct Task {
    std::string id;
    std::function<nlohmann::json()> make;
    /// Whether the results that it depends on are there.
    std::function<bool()> ready = [] { return true; };
    /// Among the tasks of several studies, those of a lower turn are done first.
    int64_t turn = 0;
  };
  /// Does the task, unless it is done. Throws StopAsked.
  void perform(const Task& task);
  /// Does the tasks that are not done. False if it was asked to stop before the end.
  bool run(const std::vector<Task>& tasks);

  /// The result of a task that is done.
  std::optional<nlohmann::json> find(const std::string& id) const { return results_->find(id); }
  /// Where a task keeps what it needs to go on; removed when it is done.
  std::filesystem::path work_folder(const std::string& id) const;

  /// Throws StopAsked if it was asked to stop: for use between the parts of a task.
  void check_stop() const;
  const StudyOptions& options() const { return options_; }
  Watcher& watcher() { return watcher_; }
  const std::filesystem::path& path() const { return results_->path(); }

 private:
  StudyOptions options_;
  Watcher& watcher_;
  Form form_;
  std::string records_;
  std::unique_ptr<record::StudyResults> results_;
};

/// Ends a task without a result.
struct StopAsked {};

struct StudyInfo {
  const char* name;
  const char* paper;  ///< "Fig. 3, Table 2"
  const char* what;
  bool trains;  ///< whether it needs a data set, has a standard form, and can go on within a task
  std::vector<Study::Task> (*tasks)(Study&);
  const char* records;  ///< the study whose records these are: `curves` shows the runs of `accuracy`
};
/// In the order of the paper.
const std::vector<StudyInfo>& studies();
/// Throws Error, with the known names.
const StudyInfo& find_study(const std::string& name);

/// A study with the tasks that it has by its options.
struct PlannedStudy {
  const StudyInfo* info;
  std::unique_ptr<Study> study;
  std::vector<Study::Task> tasks;
};
/// Throws Error for a study that has no form of this scale.
PlannedStudy plan_study(const StudyInfo& info, const StudyOptions& options, Watcher& watcher);

}  // namespace samplenorm::study
