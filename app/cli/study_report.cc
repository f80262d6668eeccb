#include "cli/study_report.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/say.h"

namespace samplenorm::cli {

void StudyReport::on_task(const std::string& name, size_t number, size_t total) {
  progress_.reset();
  task_ = fmt::format("{}/{} {}", number, total, name);
}

void StudyReport::on_progress(int64_t done, int64_t total, const std::string& what) {
  if (quiet_) return;
  // A task may have several parts. What the first unit took is not known.
  if (!progress_ || done == 1)
    progress_ = std::make_unique<Progress>(total - done, "of " + task_);
  else
    progress_->update(done - 1, what);
}

void StudyReport::on_result(const std::string& sentence) {
  if (quiet_) return;
  progress_.reset();
  say(stdout, fmt::format("{}: {}\n", task_, sentence));
  std::fflush(stdout);
}

void StudyReport::on_warning(const std::string& sentence) {
  if (progress_) progress_->clear();
  say(stderr, fmt::format("samplenorm: {}\n", sentence));
}

}  // namespace samplenorm::cli
