#include <fmt/format.h>
#include <torch/torch.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/process_contender.h"
#include "bench/quartiles.h"
#include "bench/seconds_record.h"
#include "bench/step_bench.h"
#include "bench/stopwatch.h"
#include "cli/background.h"
#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/layer_record.h"
#include "cli/learner.h"
#include "cli/machine.h"
#include "cli/step_options.h"
#include "cli/text_table.h"
#include "data/files.h"
#include "samplenorm/error.h"
#include "train/evaluation.h"
#include "train/safetensors.h"
#include "train/trainer.h"

namespace samplenorm::cli {
namespace {

using bench::Seconds;

constexpr const char* kPython = "python";
constexpr bench::Effort kStepEffort{
    .rounds = 15, .seconds = 0, .repeats = 1, .seconds_per_turn = 0, .settling_calls = 2};

struct StepBenchOptions {
  StepOptions step;
  std::vector<std::string> rivals;  ///< NAME=COMMAND
  std::string data;
  std::string serve;
};

/// What the case looks like to other processes: its images and labels, and its weights under torchvision's names.
void write_case(const bench::StepCase& step, const std::filesystem::path& file) {
  train::TensorFile content;
  content.metadata = {{"model", step.model}, {"classes", std::to_string(step.classes)}};
  content.tensors = {{"images", step.images}, {"labels", step.labels}};
  const auto network = bench::make_network(step, bench::kTorch);
  for (const auto& item : network->named_parameters())
    content.tensors.emplace_back("network." + item.key(), item.value().detach());
  for (const auto& item : network->named_buffers()) content.tensors.emplace_back("network." + item.key(), item.value());
  train::write_safetensors(file, content);
}

bench::StepCase read_case(const std::filesystem::path& file) {
  const auto content = train::read_safetensors(file);
  const auto tensor = [&](const std::string& name) {
    for (const auto& [key, value] : content.tensors)
      if (key == name) return value;
    throw Error(fmt::format("{}: expected a tensor '{}'", file.string(), name));
  };
  const auto images = tensor("images").contiguous(torch::MemoryFormat::ChannelsLast), labels = tensor("labels");
  if (!content.metadata.contains("model") || !content.metadata.contains("classes"))
    throw Error(fmt::format("{}: expected metadata 'model' and 'classes'", file.string()));
  return {content.metadata.at("model"), images, labels, std::stoll(content.metadata.at("classes"))};
}

std::vector<bench::NamedStep> make_steps(const StepBenchOptions& options, const bench::StepCase& step,
                                         const std::filesystem::path& case_file) {
  std::vector<bench::NamedStep> steps;
  for (const auto& norm : options.step.norm_names()) steps.push_back(bench::named_step(step, norm));
  for (const auto& rival : options.rivals) {
    const size_t equals = rival.find('=');
    steps.push_back({rival.substr(0, equals), /*exact=*/true,
                     bench::process_contender(rival.substr(equals + 1), case_file.string())});
  }
  return steps;
}

/// A step as the others are compared with: Python's if it is there, else the first.
size_t reference_of(const std::vector<bench::NamedStep>& steps) {
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].name == kPython) return i;
  return 0;
}

void print(const std::vector<bench::NamedStep>& steps, const std::vector<Seconds>& seconds) {
  const size_t reference = reference_of(steps);
  std::vector<std::vector<std::string>> rows{
      {"step with", "forward ms", "backward ms", "both ms", "quartiles", steps[reference].name + "/it"}};
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto median = [&](bench::Phase phase) {
      return fmt::format("{:.1f}", 1e3 * bench::quartiles(seconds[i].*phase).median);
    };
    const auto both = bench::quartiles(seconds[i].both);
    rows.push_back({steps[i].name, median(&Seconds::forward), median(&Seconds::backward), median(&Seconds::both),
                    fmt::format("{:.1f}-{:.1f}", 1e3 * both.first, 1e3 * both.third),
                    fmt::format("{:.2f}", bench::median_ratio(seconds[reference].both, seconds[i].both))});
  }
  fmt::print("{}", text_table(rows));
}

nlohmann::json step_records(const std::vector<bench::NamedStep>& steps, const std::vector<Seconds>& seconds) {
  auto records = nlohmann::json::array();
  for (size_t i = 0; i < steps.size(); ++i) {
    auto record = bench::phase_spreads(seconds[i]);
    record["name"] = steps[i].name;
    for (size_t j = 0; j < steps.size(); ++j)
      record["speed_against"][steps[j].name] = bench::median_ratio(seconds[j].both, seconds[i].both);
    records.push_back(std::move(record));
  }
  return records;
}

/// The part of the time that a run on real data waits for the next batch.
double waiting_part(const StepBenchOptions& options, const bench::StepCase& step) {
  const int64_t steps = options.step.quick ? 10 : 80;
  const int64_t batch = step.images.size(0);
  const train::Recipe recipe{.model = step.model, .data = options.data, .batch = batch};
  const auto set = train::open_data(recipe);
  data::Loader training(set, train::loader_options(recipe, true));
  Learner learner(recipe, set, training);
  const bench::Stopwatch watch;
  training.begin(0);
  for (int64_t i = 0; i < steps; ++i) {
    const auto next = training.next();
    if (!next) throw Error(fmt::format("{}: expected {} batches of {} images, found {}", set.name, steps, batch, i));
    learner.step(*next, /*rate=*/0);
  }
  return training.waited_seconds() / watch.seconds();
}

std::vector<bench::Goal> goals_of(const std::vector<bench::NamedStep>& steps, const std::vector<Seconds>& seconds,
                                  const std::optional<double>& waiting) {
  const auto find = [&](const char* name) -> const Seconds* {
    for (size_t i = 0; i < steps.size(); ++i)
      if (steps[i].name == name) return &seconds[i];
    return nullptr;
  };
  const Seconds *python = find(kPython), *exact = find(bench::kExactNorm);
  bench::Goal speed{"step_bn_against_python", "speed of the step with our BN to that in Python", "", {}, 1, 1};
  if (python != nullptr && exact != nullptr) speed.value = bench::median_ratio(python->both, exact->both);
  bench::Goal loading{"step_not_waiting", "part of the time that a run does not wait for data", "", {}, 0.98, 0.99};
  if (waiting) loading.value = 1 - *waiting;
  return {speed, loading};
}

void print(const std::vector<bench::Goal>& goals) {
  std::vector<std::vector<std::string>> rows{{"goal (larger is better)", "value", "must", "verdict"}};
  for (const auto& goal : goals)
    rows.push_back({goal.what, goal.value ? fmt::format("{:.3f}", *goal.value) : "", fmt::format("{:.2f}", goal.must),
                    bench::verdict(goal)});
  fmt::print("\n{}", text_table(rows));
}

void run_bench_step(const StepBenchOptions& options, const std::string& command) {
  if (!options.serve.empty()) {
    const auto norm = options.step.norm_names().front();
    return bench::serve(*bench::step_contender(read_case(options.serve), norm), std::cin, std::cout);
  }
  std::optional<JsonFile> file;
  if (!options.step.json.empty()) file.emplace(options.step.json);
  auto record = record_header(command);
  const Undisturbed undisturbed;

  const auto step = options.step.make_case();
  fmt::print("{}\n\n", describe(step));
  const data::TemporaryFolder folder(std::filesystem::temp_directory_path() / "samplenorm-step");
  const auto case_file = folder.path() / "case.safetensors";
  write_case(step, case_file);
  auto steps = make_steps(options, step, case_file);
  const auto seconds = bench::time_steps(steps, options.step.quick ? bench::kQuickEffort : kStepEffort);
  print(steps, seconds);
  std::optional<double> waiting;
  if (!options.data.empty()) waiting = waiting_part(options, step);
  const auto goals = goals_of(steps, seconds, waiting);
  print(goals);
  if (!file) return;
  add_to_record(step, record);
  record["steps"] = step_records(steps, seconds);
  record["waiting"] = waiting ? nlohmann::json(*waiting) : nlohmann::json(nullptr);
  record["goals"] = goal_records(goals);
  file->write(record);
}

}  // namespace

void add_bench_step(CLI::App& bench, const std::string& command) {
  CLI::App* step = bench.add_subcommand(
      "step", "Time a network's training step with each norm, and against the same step in other processes");
  auto options = std::make_shared<StepBenchOptions>();
  options->step.model = "resnet20";
  options->step.norms = "torch,BN,FS-1/64,LS-1/64,none";
  add_step_options(*step, options->step);
  step->add_option("--rival", options->rivals,
                   "NAME=COMMAND, which takes the same step when it is its turn, as bench/step_in_python.py does; may "
                   "be repeated")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.find('=') == std::string::npos ? "expected NAME=COMMAND, got " + text : std::string();
          },
          "", "rival"))
      ->allow_extra_args(false)
      ->type_name("NAME=COMMAND");
  step->add_option("--data", options->data, "Measure too how long a run on this data set waits for batches");
  step->add_option("--serve", options->serve,
                   "Be a rival: take the step of this case, with the first norm, when standard input asks for it")
      ->type_name("FILE");
  step->footer("Example:\n  samplenorm bench step --model resnet20 --norm torch,BN,LS-1/64 --json step.json");
  step->callback([options, command] { run_bench_step(*options, command); });
}

}  // namespace samplenorm::cli
