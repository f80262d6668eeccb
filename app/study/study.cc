#include "study/study.h"

#include <fmt/format.h>

#include "samplenorm/error.h"
#include "study/tasks.h"

namespace samplenorm::study {
namespace {

/// What decides the results beside the scale, as text: results of other settings must not stand in one file.
std::string settings_of(const StudyOptions& options) {
  std::string text = "data=" + options.data;
  for (const auto& [key, value] : options.recipe) text += fmt::format(" {}={}", key, value);
  if (options.batch > 0) text += fmt::format(" batch={}", options.batch);
  if (options.side > 0) text += fmt::format(" side={}", options.side);
  return text;
}

nlohmann::json description_of(const StudyOptions& options) {
  nlohmann::json description = options.description.is_null() ? nlohmann::json::object() : options.description;
  description["settings"] = settings_of(options);
  return description;
}

}  // namespace

Study::Study(const std::string& name, const StudyOptions& options, Watcher& watcher)
    : options_(options),
      watcher_(watcher),
      file_(options.folder, name, options.full ? "full" : "quick", description_of(options)) {}

void Study::check_stop() const {
  if (options_.stop_asked()) throw StopAsked();
}

bool Study::run(const std::vector<Task>& tasks) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    const auto& task = tasks[i];
    if (file_.has(task.id)) continue;
    watcher_.on_task(task.id, i + 1, tasks.size());
    try {
      check_stop();
      file_.add(task.id, task.make());
    } catch (const StopAsked&) {
      return false;
    }
  }
  return true;
}

const std::vector<StudyInfo>& studies() {
  static const std::vector<StudyInfo> all{
      {"cost", "Fig. 1a", "training steps a second with and without normalization", false, cost_tasks},
      {"accuracy", "Fig. 3, Table 2", "accuracy against the part of the data that is sampled", true, accuracy_tasks},
      {"curves", "Figs. 4, 5", "training curves", true, curves_tasks},
      {"error", "Figs. 6, 7", "errors of the estimated statistics, and how those of layers go together", true,
       error_tasks},
      {"speed", "Figs. 8a, 8b, Table 3", "normalization alone and whole steps with every method", false, speed_tasks},
      {"regularity", "Fig. 8c", "patches against scattered points, static against redrawn places", false,
       regularity_tasks},
      {"decay", "Fig. 10", "accuracy against the weight of the newest statistics in the running ones", true,
       decay_tasks},
      {"micro", "Fig. 9", "tiny statistic batches", true, micro_tasks},
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

StudyResult run_study(const StudyInfo& info, const StudyOptions& options, Watcher& watcher) {
  Study study(info.name, options, watcher);
  const bool done = study.run(info.tasks(study));
  return {.stopped = !done, .file = study.file()};
}

}  // namespace samplenorm::study
