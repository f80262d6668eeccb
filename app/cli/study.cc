#include "study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>

#include "cli/background.h"
#include "cli/commands.h"
#include "cli/fetch_if_missing.h"
#include "cli/job_process.h"
#include "cli/machine.h"
#include "cli/norm_list.h"
#include "cli/say.h"
#include "cli/stop_signal.h"
#include "cli/study_report.h"
#include "cli/study_status.h"
#include "record/folder_lock.h"
#include "samplenorm/error.h"
#include "study/jobs.h"

namespace samplenorm::cli {
namespace {

constexpr const char* kAll = "all";

struct Options {
  std::vector<std::string> names;
  bool quick = false;
  bool standard = false;
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
  int64_t jobs = 1;
  bool status = false;
  bool background = false;
  std::string json;
};

std::vector<std::string> names_of(const Options& options) {
  if (options.names != std::vector<std::string>{kAll}) return options.names;
  std::vector<std::string> names;
  for (const auto& info : study::studies())
    if (info.trains || !options.standard) names.emplace_back(info.name);
  return names;
}

study::StudyOptions study_options(const Options& options, const std::string& command) {
  study::StudyOptions result;
  result.scale = options.full ? study::Scale::kFull : options.standard ? study::Scale::kStandard : study::Scale::kQuick;
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

std::vector<study::PlannedStudy> plan(const Options& options, const std::string& command, study::Watcher& watcher) {
  std::vector<study::PlannedStudy> studies;
  for (const auto& name : names_of(options))
    studies.push_back(study::plan_study(study::find_study(name), study_options(options, command), watcher));
  return studies;
}

[[noreturn]] void throw_stopped(const Options& options) {
  throw Stopped(StopSignal::received() != 0 ? StopSignal::received() : SIGTERM,
                fmt::format("stopped, with all results in {}; the same command goes on", options.out));
}

/// What a process does that was started for one job. Its parent says what came of it.
void do_job(const Options& options, const std::string& command, const std::string& name) {
  const StopSignal stop(StopSignal::Second::kAsksAgain);
  StudyReport warnings(/*quiet=*/true);
  const auto studies = plan(options, command, warnings);
  for (const auto& job : study::jobs_of(studies)) {
    if (job.name() != name) continue;
    try {
      return job.study->study->perform(*job.task);
    } catch (const study::StopAsked&) {
      throw CLI::RuntimeError(128 + StopSignal::received());
    }
  }
  throw Error(fmt::format("there is no task '{}'", name));
}

/// False if it was asked to stop.
bool run_side_by_side(const Options& options, const std::vector<study::PlannedStudy>& studies, StudyReport& report) {
  const study::JobRunner runner{.at_once = options.jobs,
                                .start = [](const study::Job& job) { return start_job(job.name()); },
                                .stop_asked = [] { return StopSignal::received() != 0; },
                                .watcher = report};
  return study::run_jobs(study::jobs_of(studies), runner);
}

void run_one_by_one(const Options& options, const study::PlannedStudy& planned) {
  const auto& info = *planned.info;
  std::optional<Undisturbed> undisturbed;
  if (!info.trains) undisturbed.emplace();
  if (!options.quiet)
    say(stderr, fmt::format("{}: {} ({}), on {}\n", info.name, info.what, info.paper, machine_line()));
  if (!planned.study->run(planned.tasks)) throw_stopped(options);
}

void run_studies(const Options& options, const std::string& command) {
  StudyReport report(options.quiet);
  const auto studies = plan(options, command, report);
  const record::FolderLock lock(options.out, command);
  std::optional<Background> background;
  if (options.background) background.emplace();
  const StopSignal stop;
  if (std::ranges::any_of(studies, [](const auto& planned) { return planned.info->trains; }))
    fetch_if_missing(options.data, options.data_folder);
  if (options.jobs > 1 && !run_side_by_side(options, studies, report)) throw_stopped(options);
  for (const auto& planned : studies) {
    if (options.jobs == 1) run_one_by_one(options, planned);
    fmt::print("{}\n", planned.study->path().string());
  }
}

void run_study(const Options& options, const std::string& command) {
  const auto names = names_of(options);
  const auto trains = [](const std::string& name) { return study::find_study(name).trains; };
  if ((options.jobs > 1 || options.background) && !std::ranges::all_of(names, trains))
    throw Error(
        "--jobs and --background are for studies that train: those that time things need the machine to themselves");
  if (options.status) {
    study::Watcher nobody;
    return print_status(plan(options, command, nobody), options.jobs, options.json);
  }
  const std::string task = task_of_this_process();
  return task.empty() ? run_studies(options, command) : do_job(options, command, task);
}

std::string footer() {
  std::string text = "Studies:\n";
  for (const auto& info : study::studies()) text += fmt::format("  {:<11} {} ({})\n", info.name, info.what, info.paper);
  return text +
         "\nResults that are in the folder are not made again; `samplenorm report` shows them.\n\n"
         "Examples:\n  samplenorm study all --quick --out studies\n"
         "  samplenorm study accuracy curves --standard --jobs 2 --out standard\n"
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
  scale->add_flag("--standard", options->standard,
                  "Days on two cores: ResNet-20 on all of CIFAR-10; of studies that train");
  scale->add_flag("--full", options->full, "The paper's own networks, schedule and seeds");
  scale->require_option(1);
  study->add_option("--out", options->out, "Folder of the records")->capture_default_str();
  study->add_option("--jobs", options->jobs, "So many trainings at once, each in a process of one thread")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  study->add_flag("--background", options->background,
                  "Use what the machine has to spare; programs that time things stop it meanwhile");
  auto* status =
      study->add_flag("--status", options->status, "Only say what is done, what runs, and how long the rest will take");
  study->add_option("--json", options->json, "With --status: write it to this file too")->needs(status);
  study->add_option("--data", options->data, "Of studies that train: cifar10, cifar100, folder, ...")
      ->capture_default_str();
  study->add_option("--data-folder", options->data_folder, "Where it is, if not in its usual place");
  add_norm_list(*study, options->norms, "Norms in place of the study's own");
  study->add_option("--model", options->models, "Networks in place of the study's own; one if it trains")
      ->delimiter(',');
  study->add_option("--seeds", options->seeds, "Runs of each norm, in place of 3, or 5 at full scale")
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
