#include "study/study.h"

#include <fmt/format.h>

#include <map>

#include "record/folder_lock.h"
#include "record/result_files.h"
#include "samplenorm/error.h"
#include "study/tasks.h"

namespace samplenorm::study {
namespace {

/// What decides the results beside the scale, as text: results of other settings must not stand in one file.
std::string settings_of(const StudyOptions& options, Study::Form form) {
  std::string text = "data=" + options.data;
  for (const auto& [key, value] : std::map<std::string, std::string>(options.recipe.rbegin(), options.recipe.rend()))
    text += fmt::format(" {}={}", key, value);
  if (form == Study::Form::kFileEach) {  // the ids of runs do not name the network, and batches are the recipe's
    if (!options.models.empty()) text += " --model " + options.models.front();
    return text;
  }
  if (options.batch > 0) text += fmt::format(" batch={}", options.batch);
  if (options.side > 0) text += fmt::format(" side={}", options.side);
  return text;
}

nlohmann::json description_of(const StudyOptions& options, Study::Form form) {
  nlohmann::json description = options.description;
  description["settings"] = settings_of(options, form);
  return description;
}

std::unique_ptr<record::StudyResults> open_results(Study::Form form, const std::string& records,
                                                   const StudyOptions& options) {
  const auto description = description_of(options, form);
  if (form == Study::Form::kFileEach)
    return std::make_unique<record::ResultFiles>(options.folder, records, name_of(options.scale), description);
  return std::make_unique<record::StudyFile>(options.folder, records, name_of(options.scale), description);
}

}  // namespace

const char* name_of(Scale scale) {
  return scale == Scale::kQuick ? "quick" : scale == Scale::kStandard ? "standard" : "full";
}

Study::Study(const std::string& records, const StudyOptions& options, Watcher& watcher, Form form)
    : options_(options),
      watcher_(watcher),
      form_(form),
      records_(records),
      results_(open_results(form, records, options)) {}

std::filesystem::path Study::work_folder(const std::string& id) const {
  return options_.folder / "unfinished" / records_ / record::file_name(id);
}

void Study::check_stop() const {
  if (options_.stop_asked()) throw StopAsked();
}

void Study::perform(const Task& task) {
  if (!results_->has(task.id)) {
    check_stop();
    // A process that outlived the one that started it may still be writing what is needed to go on.
    std::optional<record::FolderLock> lock;
    if (form_ == Form::kFileEach)
      lock.emplace(work_folder(task.id), options_.description.value("command", ""), record::FolderLock::Wait::kYes);
    if (!results_->has(task.id)) results_->add(task.id, task.make());
  }
  std::error_code only_takes_up_space;
  std::filesystem::remove_all(work_folder(task.id), only_takes_up_space);
}

bool Study::run(const std::vector<Task>& tasks) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!results_->has(tasks[i].id)) watcher_.on_task(tasks[i].id, i + 1, tasks.size());
    try {
      perform(tasks[i]);
    } catch (const StopAsked&) {
      return false;
    }
  }
  return true;
}

const std::vector<StudyInfo>& studies() {
  static const std::vector<StudyInfo> all{
      {"cost", "Fig. 1a", "training steps a second with and without normalization", false, cost_tasks, "cost"},
      {"accuracy", "Fig. 3, Table 2", "accuracy against the part of the data that is sampled", true, accuracy_tasks,
       "accuracy"},
      {"curves", "Figs. 4, 5", "training curves", true, curves_tasks, "accuracy"},
      {"error", "Figs. 6, 7", "errors of the estimated statistics, and how those of layers go together", true,
       error_tasks, "error"},
      {"speed", "Figs. 8a, 8b, Table 3", "normalization alone and whole steps with every method", false, speed_tasks,
       "speed"},
      {"regularity", "Fig. 8c", "patches against scattered points, static against redrawn places", false,
       regularity_tasks, "regularity"},
      {"decay", "Fig. 10", "accuracy against the weight of the newest statistics in the running ones", true,
       decay_tasks, "decay"},
      {"micro", "Fig. 9", "tiny statistic batches", true, micro_tasks, "micro"},
  };
  return all;
}

const StudyInfo& find_study(const std::string& name) {
  std::string known;
  for (const auto& info : studies()) {
    if (name == info.name) return info;
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  throw Error(fmt::format("unknown study '{}', expected one of {}", name, known));
}

PlannedStudy plan_study(const StudyInfo& info, const StudyOptions& options, Watcher& watcher) {
  if (options.scale == Scale::kStandard && !info.trains)
    throw Error(
        fmt::format("the study '{}' has no standard form, since it times things: --quick or --full", info.name));
  const auto form = info.trains ? Study::Form::kFileEach : Study::Form::kOneFile;
  auto study = std::make_unique<Study>(info.records, options, watcher, form);
  auto tasks = info.tasks(*study);
  return {&info, std::move(study), std::move(tasks)};
}

}  // namespace samplenorm::study
