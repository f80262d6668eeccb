#pragma once

// Tasks of several studies by processes of one thread each, side by side: two trainings of one thread make more images
// a second than one of two.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "study/study.h"

namespace samplenorm::study {

/// A task of one of several studies.
struct Job {
  const PlannedStudy* study;
  const Study::Task* task;

  bool done() const { return study->study->find(task->id).has_value(); }
  std::string name() const { return std::string(study->info->name) + ": " + task->id; }
};

/// All tasks, by their turns. A task that two studies have in common is there once.
std::vector<Job> jobs_of(const std::vector<PlannedStudy>& studies);

struct JobRunner {
  int64_t at_once = 1;
  /// Starts a process that does the job and ends with status 0, and gives its number.
  std::function<pid_t(const Job&)> start;
  std::function<bool()> stop_asked;
  Watcher& watcher;
};

/// Does the jobs that are not done, in order; a job waits until the results that it needs are there. False if it was
/// asked to stop before the end: processes are asked to stop, too, and waited for. Throws Error if one fails, likewise.
bool run_jobs(const std::vector<Job>& jobs, const JobRunner& runner);

}  // namespace samplenorm::study
