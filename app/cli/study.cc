#include "study/study.h"

#include <fmt/format.h>

#include <csignal>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/fetch_if_missing.h"
#include "cli/machine.h"
#include "cli/norm_list.h"
#include "cli/progress.h"
#include "cli/stop_signal.h"
#include "samplenorm/error.h"

namespace samplenorm::cli {
namespace {

constexpr const char* kAll = "all";

struct Options {
  std::vector<std::string> names;
  bool quick = false;
  bool full = false;
  std::string out = "studies";
  std::string norms;
  std::vector<std::string> models;
  int64_t seeds = 0;
  int64_t batch = 0;
  int64_t side = 0;
  std::string data = "cifar10";
  std::string data_folder;
  std::vector<std::string> set;
  bool quiet = false;
};

/// A line for each result on stdout, progress on stderr.
class StudyReport : public study::Watcher {
 public:
  explicit StudyReport(bool quiet) : quiet_(quiet) {}

  void on_task(const std::string& name, size_t number, size_t total) override {
    progress_.reset();
    task_ = fmt::format("{}/{} {}", number, total, name);
  }
  void on_progress(int64_t done, int64_t total, const std::string& what) override {
    if (quiet_) return;
    // A task may have several parts. What the first unit took is not known.
    if (!progress_ || done == 1)
      progress_ = std::make_unique<Progress>(total - done, "of " + task_);
    else
      progress_->update(done - 1, what);
  }
  void on_result(const std::string& sentence) override {
    if (quiet_) return;
    progress_.reset();
    fmt::print("{}: {}\n", task_, sentence);
    std::fflush(stdout);
  }
  void on_warning(const std::string& sentence) override {
    if (progress_) progress_->clear();
    fmt::print(stderr, "samplenorm: {}\n", sentence);
  }

 private:
  bool quiet_;
  std::string task_;
  std::unique_ptr<Progress> progress_;
};

std::vector<std::string> names_of(const Options& options) {
  if (options.names != std::vector<std::string>{kAll}) return options.names;
  std::vector<std::string> names;
  for (const auto& info : study::studies()) names.emplace_back(info.name);
  return names;
}

study::StudyOptions study_options(const Options& options, const std::string& command) {
  study::StudyOptions result;
  result.full = options.full;
  result.folder = options.out;
  if (!options.norms.empty()) result.norms = split_norm_list(options.norms);
  result.models = options.models;
  result.seeds = options.seeds;
  result.batch = options.batch;
  result.side = options.side;
  result.data = options.data;
  result.data_folder = options.data_folder;
  for (const auto& text : options.set) {
    const size_t equals = text.find('=');
    result.recipe.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  result.description = record_header(command);
  result.stop_asked = [] { return StopSignal::received() != 0; };
  return result;
}

void run_study(const Options& options, const std::string& command) {
  for (const auto& name : names_of(options)) {
    const auto& info = study::find_study(name);
    if (info.trains)
      fetch_if_missing(options.data, options.data_folder);
    else
      warn_of_load();
    if (!options.quiet) fmt::print(stderr, "{}: {} ({}), on {}\n", name, info.what, info.paper, machine_line());
    const StopSignal stop;
    StudyReport report(options.quiet);
    const auto result = study::run_study(info, study_options(options, command), report);
    if (result.stopped)
      throw Stopped(StopSignal::received() != 0 ? StopSignal::received() : SIGTERM,
                    fmt::format("stopped, with all results in {}; the same command goes on", result.file.string()));
    fmt::print("{}\n", result.file.string());
  }
}

std::string footer() {
  std::string text = "Studies:\n";
  for (const auto& info : study::studies()) text += fmt::format("  {:<11} {} ({})\n", info.name, info.what, info.paper);
  return text +
         "\nResults that are in the folder are not made again; `samplenorm report` shows them.\n\n"
         "Examples:\n  samplenorm study all --quick --out studies\n"
         "  samplenorm study accuracy --full --data folder --data-folder imagenet";
}

std::string problem_of_name(const std::string& name) {
  if (name == kAll) return "";
  try {
    study::find_study(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

void add_study(CLI::App& program, const std::string& command) {
  CLI::App* study =
      program.add_subcommand("study", "Reproduce tables and figures of the paper; may be stopped and go on");
  auto options = std::make_shared<Options>();
  study->add_option("NAME", options->names, "Which studies; 'all' for every one")
      ->required()
      ->check(CLI::Validator(problem_of_name, "", "study"))
      ->type_name("");
  auto* scale = study->add_option_group("scale");
  scale->add_flag("--quick", options->quick, "Minutes on two cores");
  scale->add_flag("--full", options->full, "The paper's own networks, schedule and seeds");
  scale->require_option(1);
  study->add_option("--out", options->out, "Folder of the records, NAME.jsonl, and of runs")->capture_default_str();
  study->add_option("--data", options->data, "Of studies that train: cifar10, cifar100, folder, ...")
      ->capture_default_str();
  study->add_option("--data-folder", options->data_folder, "Where it is, if not in its usual place");
  add_norm_list(*study, options->norms, "Norms in place of the study's own");
  study->add_option("--model", options->models, "Networks in place of the study's own; one if it trains")
      ->delimiter(',');
  study->add_option("--seeds", options->seeds, "Runs of each norm, in place of 3 quick or 5 full ones")
      ->check(CLI::PositiveNumber);
  study->add_option("--batch", options->batch, "Images in a step that is timed")->check(CLI::PositiveNumber);
  study->add_option("--side", options->side, "Height and width of these images")->check(CLI::PositiveNumber);
  study->add_option("--set", options->set, "KEY=VALUE of the recipe; see `samplenorm train --help`")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.find('=') == std::string::npos ? "expected KEY=VALUE, got " + text : std::string();
          },
          "", "field"))
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  study->add_flag("--quiet", options->quiet, "Only where the records are");
  study->footer(footer());
  study->callback([options, command] { run_study(*options, command); });
}

}  // namespace samplenorm::cli
