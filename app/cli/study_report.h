#pragma once

#include <memory>
#include <string>

#include "cli/progress.h"
#include "study/study.h"

namespace samplenorm::cli {

/// A line for each result on stdout, progress on stderr.
class StudyReport : public study::Watcher {
 public:
  explicit StudyReport(bool quiet) : quiet_(quiet) {}

  void on_task(const std::string& name, size_t number, size_t total) override;
  void on_progress(int64_t done, int64_t total, const std::string& what) override;
  void on_result(const std::string& sentence) override;
  void on_warning(const std::string& sentence) override;

 private:
  bool quiet_;
  std::string task_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace samplenorm::cli
