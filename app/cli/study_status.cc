#include "cli/study_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "cli/json_file.h"
#include "record/folder_lock.h"
#include "record/run_folder.h"
#include "samplenorm/error.h"
#include "study/jobs.h"
#include "study/training_runs.h"

namespace samplenorm::cli {
namespace {

using nlohmann::json;

/// Epochs that are trained of a run that is not done; none where nothing is known.
std::optional<double> epochs_trained(const std::filesystem::path& folder) {
  try {
    const auto metrics = record::read_metrics(folder);
    if (metrics.steps.empty()) return {};
    const auto& last = metrics.steps.back();
    const auto of_first = std::ranges::count_if(metrics.steps, [](const auto& step) { return step.epoch == 0; });
    if (last.epoch == 0 || of_first == 0) return static_cast<double>(last.epoch);
    return static_cast<double>(last.step + 1) / static_cast<double>(of_first);
  } catch (const Error&) {
    return {};
  }
}

json status_of(const study::Job& job) {
  json line{{"study", job.study->info->name}, {"task", job.task->id}};
  const auto& study = *job.study->study;
  if (const auto result = study.find(job.task->id)) {
    line["state"] = "done";
    if (result->contains("seconds")) line["seconds"] = (*result)["seconds"];
    if (result->contains("top1") || result->contains("failed")) line["outcome"] = study::outcome(*result);
    return line;
  }
  const auto folder = study.work_folder(job.task->id);
  line["state"] = record::owner_of(folder) ? "running" : "waiting";
  if (const auto epochs = epochs_trained(folder)) line["epochs_trained"] = *epochs;
  return line;
}

std::string in_words(const json& line) {
  if (line.contains("outcome")) return line["outcome"].get<std::string>();
  if (line.contains("epochs_trained"))
    return fmt::format("{:.1f} epochs trained", line["epochs_trained"].get<double>());
  return "";
}

/// Of the tasks that are not done: as long as the mean of those of their study that are, or else of all; what is
/// trained of them is not taken off.
std::optional<double> seconds_left(const std::vector<json>& lines, int64_t jobs) {
  const auto mean = [&](const std::string& study) -> std::optional<double> {
    double sum = 0;
    int64_t count = 0;
    for (const auto& line : lines)
      if (line.contains("seconds") && (study.empty() || line["study"] == study)) {
        sum += line["seconds"].get<double>();
        ++count;
      }
    return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
  };
  double sum = 0;
  for (const auto& line : lines) {
    if (line["state"] == "done") continue;
    auto seconds = mean(line["study"].get<std::string>());
    if (!seconds) seconds = mean("");
    if (!seconds) return {};
    sum += *seconds;
  }
  return sum / static_cast<double>(jobs);
}

std::string hours(double seconds) {
  const auto minutes = static_cast<int64_t>(seconds / 60 + 0.5);
  return minutes < 60 ? fmt::format("{} min", minutes) : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace

void print_status(const std::vector<study::PlannedStudy>& studies, int64_t jobs, const std::string& json_file) {
  std::vector<json> lines;
  for (const auto& job : study::jobs_of(studies)) lines.push_back(status_of(job));
  size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line["task"].get<std::string>().size());
  const auto count = [&](const char* state) {
    return std::ranges::count_if(lines, [&](const auto& line) { return line["state"] == state; });
  };
  for (const auto& line : lines)
    fmt::print("{:<9} {:<{}}  {:<8} {}\n", line["study"].get<std::string>(), line["task"].get<std::string>(), width,
               line["state"].get<std::string>(), in_words(line));
  const auto left = seconds_left(lines, jobs);
  fmt::print("{} of {} done, {} running; {}\n", count("done"), lines.size(), count("running"),
             !left ? "how long the rest will take is known when the first is done"
                   : fmt::format("the rest will take about {} with {} at once", hours(*left), jobs));
  if (json_file.empty()) return;
  JsonFile(json_file).write({{"tasks", lines}, {"seconds_left", left ? json(*left) : json(nullptr)}});
}

}  // namespace samplenorm::cli
