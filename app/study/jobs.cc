#include "study/jobs.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "samplenorm/error.h"
#include "study/training_runs.h"

namespace samplenorm::study {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(100);

/// How a process ended that did not do its job; nothing for one that did.
std::optional<std::string> failure_of(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status)) return fmt::format("failed (status {})", WEXITSTATUS(status));
  return fmt::format("was killed by signal {}; the same command goes on", WTERMSIG(status));
}

class Running {
 public:
  explicit Running(const JobRunner& runner) : runner_(runner) {}
  ~Running() { end_all(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  bool full() const { return std::ssize(processes_) >= runner_.at_once; }
  bool empty() const { return processes_.empty(); }
  bool has(const Job& job) const {
    return std::ranges::any_of(processes_, [&](const auto& each) { return each.second->task == job.task; });
  }
  void start(const Job& job) { processes_[runner_.start(job)] = &job; }

  /// The job of a process that has ended, with its status.
  struct Ended {
    const Job* job;
    int status;
  };
  std::optional<Ended> take_ended() {
    for (const auto& [process, job] : processes_) {
      int status = 0;
      if (::waitpid(process, &status, WNOHANG) != process) continue;
      const Ended ended{job, status};
      processes_.erase(process);
      return ended;
    }
    return {};
  }

  /// Asks all to stop, and waits until they have written what they need to go on.
  void end_all() {
    for (const auto& [process, job] : processes_) ::kill(process, SIGTERM);
    for (const auto& [process, job] : processes_) {
      int status = 0;
      ::waitpid(process, &status, 0);
    }
    processes_.clear();
  }

 private:
  const JobRunner& runner_;
  std::map<pid_t, const Job*> processes_;
};

}  // namespace

std::vector<Job> jobs_of(const std::vector<PlannedStudy>& studies) {
  std::vector<Job> jobs;
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& planned : studies)
    for (const auto& task : planned.tasks)
      if (seen.emplace(planned.info->records, task.id).second) jobs.push_back({&planned, &task});
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.task->turn < b.task->turn; });
  return jobs;
}

bool run_jobs(const std::vector<Job>& jobs, const JobRunner& runner) {
  Running running(runner);
  std::set<const Study::Task*> done;
  const auto number_of = [&](const Job& job) { return static_cast<size_t>(&job - jobs.data()) + 1; };
  while (!runner.stop_asked()) {
    for (const auto& job : jobs) {
      if (running.full()) break;
      if (done.contains(job.task) || running.has(job)) continue;
      if (job.done())
        done.insert(job.task);
      else if (job.task->ready())
        running.start(job);
    }
    if (running.empty()) return true;
    const auto ended = running.take_ended();
    if (!ended) {
      std::this_thread::sleep_for(kLookAgain);
      continue;
    }
    if (runner.stop_asked()) break;
    const auto& job = *ended->job;
    if (const auto failure = failure_of(ended->status))
      throw Error(fmt::format("the process for '{}' {}; all results are kept", job.name(), *failure));
    const auto result = job.study->study->find(job.task->id);
    if (!result) throw Error(fmt::format("the process for '{}' ended without a result", job.name()));
    runner.watcher.on_task(job.name(), number_of(job), jobs.size());
    runner.watcher.on_result(result->contains("top1") || result->contains("failed") ? outcome(*result) : "done");
  }
  return false;
}

}  // namespace samplenorm::study
