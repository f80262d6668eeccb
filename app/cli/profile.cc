#include "bench/profile.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/profile_record.h"
#include "bench/quartiles.h"
#include "bench/step_bench.h"
#include "cli/background.h"
#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/machine.h"
#include "cli/profile_prediction.h"
#include "cli/profile_text.h"
#include "cli/progress.h"
#include "cli/step_options.h"
#include "cli/text_table.h"

namespace samplenorm::cli {
namespace {

using bench::Phase;
using bench::Profile;
using bench::Seconds;

constexpr Phase kForward = &Seconds::forward;
constexpr Phase kBackward = &Seconds::backward;
constexpr Phase kBoth = &Seconds::both;
constexpr int64_t kFloatsToCopy = int64_t{1} << 26;  // 256 MB: far more than caches hold

/// Times are of all layers of a kind together, so that columns add up.
void print_layers(const Profile& profile) {
  const auto& reference = profile.norms.front();
  std::vector<std::vector<std::string>> rows{
      {"layers", "shape", "with", reference + " forward ms", "backward ms", "share of step"}};
  for (size_t i = 1; i < profile.norms.size(); ++i) rows.front().push_back(profile.norms[i] + " ms");
  for (const auto& layer : profile.layers) {
    rows.push_back({fmt::format("{} x {}", layer.layer.count(), layer.layer.names.front()),
                    bench::shape_name(layer.layer.sizes), bench::fusion_name(layer.layer.fusion, layer.activation),
                    milliseconds(bench::seconds_of(layer, 0, kForward)),
                    milliseconds(bench::seconds_of(layer, 0, kBackward)),
                    percent(bench::seconds_of(layer, 0, kBoth) / bench::step_seconds(profile, 0, kBoth))});
    for (size_t i = 1; i < profile.norms.size(); ++i)
      rows.back().push_back(milliseconds(bench::seconds_of(layer, i, kBoth)));
  }
  fmt::print("{}\n", text_table(rows));
}

void print_norms(const Profile& profile) {
  std::vector<std::vector<std::string>> rows{{"norm", "layers forward ms", "backward ms", "step ms", "quartiles",
                                              "layers/step", "saves by layers", "saves by steps"}};
  for (size_t i = 0; i < profile.norms.size(); ++i) {
    const auto step = bench::quartiles(profile.steps[i].both);
    rows.push_back({profile.norms[i], milliseconds(bench::layers_seconds(profile, i, kForward)),
                    milliseconds(bench::layers_seconds(profile, i, kBackward)), milliseconds(step.median),
                    milliseconds(step.first) + "-" + milliseconds(step.third), percent(bench::share(profile, i)),
                    i == 0 ? "" : percent(bench::saved_by_layers(profile, i)),
                    i == 0 ? "" : percent(bench::saved_by_steps(profile, i))});
  }
  fmt::print("{}", text_table(rows));
}

/// Profiles with one thread, and compares the prediction from it with `profile`; none where that has one thread too.
std::optional<bench::PredictionCheck> check_here(const Profile& profile, const bench::StepCase& step,
                                                 const bench::Effort& effort, const bench::ProfileListener& listener) {
  if (profile.threads < 2) return std::nullopt;
  const double bandwidth = bench::copy_bandwidth(kFloatsToCopy, /*rounds=*/9);
  const auto one = bench::measure_profile_with(/*threads=*/1, step, profile.norms, effort, listener);
  return bench::check_prediction(one, profile, bandwidth);
}

void run_profile(const StepOptions& options, const PredictionOptions& prediction, const std::string& command) {
  std::optional<JsonFile> file;
  if (!options.json.empty()) file.emplace(options.json);
  auto record = record_header(command);
  const Undisturbed undisturbed;

  const auto step = options.make_case();
  fmt::print("{}\n\n", describe(step));
  std::optional<Progress> progress;
  const auto show = [&](int64_t done, int64_t total, const std::string& what) {
    if (!progress) progress.emplace(total, "timings");
    progress->update(done, what);
  };
  const auto effort = options.quick ? bench::kQuickEffort : bench::kProfileEffort;
  const auto profile = bench::measure_profile(step, options.norm_names(), effort, show);
  progress.reset();
  const auto machine = prediction.machine();
  std::optional<bench::PredictionCheck> check;
  if (machine) check = check_here(profile, step, effort, show);
  progress.reset();
  print_layers(profile);
  print_norms(profile);
  fmt::print(
      "\nWith {} normalization, with the activation and the residual fused into it, takes {} of a training step.\n",
      profile.norms.front(), percent(bench::share(profile, 0)));
  if (machine) print_prediction(profile, *machine, check ? &*check : nullptr);
  if (!file) return;
  record.update(bench::profile_record(profile));
  if (machine) record["prediction"] = bench::prediction_record(profile, *machine, check ? &*check : nullptr);
  add_to_record(step, record);
  file->write(record);
}

}  // namespace

void add_profile(CLI::App& program, const std::string& command) {
  CLI::App* profile = program.add_subcommand(
      "profile", "How much of a training step is normalization, layer by layer, and what each norm saves");
  auto options = std::make_shared<StepOptions>();
  options->norms = "torch,BN,LS-1/64,FS-1/64";
  add_step_options(*profile, *options);
  auto prediction = std::make_shared<PredictionOptions>();
  add_prediction_options(*profile, *prediction);
  profile->footer(fmt::format(
      "Savings are against the first norm.\n\n"
      "--cores and --bandwidth: {} The model is checked here: the step of all threads against its prediction from one "
      "thread.\n\n"
      "Example:\n  samplenorm profile --model resnet50 --norm torch,LS-1/64,none --batch 16\n"
      "  samplenorm profile --model mobilenet_v2 --norm torch,LS-1/64 --cores 64 --bandwidth 200",
      bench::kPredictionModel));
  profile->callback([options, prediction, command] { run_profile(*options, *prediction, command); });
}

}  // namespace samplenorm::cli
