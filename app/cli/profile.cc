#include "bench/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/quartiles.h"
#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/machine.h"
#include "cli/norm_list.h"
#include "cli/profile_record.h"
#include "cli/progress.h"
#include "cli/text_table.h"
#include "models/model.h"
#include "samplenorm/error.h"

namespace samplenorm::cli {
namespace {

using bench::Phase;
using bench::Profile;
using bench::Seconds;

struct ProfileOptions {
  std::string model;
  std::string norms = "torch,BN,LS-1/64,FS-1/64";
  int64_t batch = 0;
  int64_t side = 0;
  bool quick = false;
  std::string json;
};

constexpr Phase kForward = &Seconds::forward;
constexpr Phase kBackward = &Seconds::backward;
constexpr Phase kBoth = &Seconds::both;

std::string milliseconds(double seconds) { return fmt::format("{:.2f}", 1e3 * seconds); }
std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string problem_of_model(const std::string& name) {
  try {
    models::model_info(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A norm that is asked for twice is timed once.
std::vector<std::string> norms_of(const std::string& list) {
  std::vector<std::string> norms;
  for (const auto& norm : split_norm_list(list))
    if (std::find(norms.begin(), norms.end(), norm) == norms.end()) norms.push_back(norm);
  return norms;
}

/// Times are of all layers of a kind together, so that columns add up.
void print_layers(const Profile& profile) {
  const auto& reference = profile.norms.front();
  std::vector<std::vector<std::string>> rows{
      {"layers", "shape", "with", reference + " forward ms", "backward ms", "share of step"}};
  for (size_t i = 1; i < profile.norms.size(); ++i) rows.front().push_back(profile.norms[i] + " ms");
  for (const auto& layer : profile.layers) {
    rows.push_back({fmt::format("{} x {}", layer.layer.count(), layer.layer.names.front()),
                    bench::shape_name(layer.layer.sizes), name_of(layer.layer.fusion),
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

Profile measure(const bench::StepCase& step, const std::vector<std::string>& norms, const bench::Effort& effort) {
  Profile profile{.norms = norms, .layers = {}, .steps = {}};
  const auto layers = bench::layers_of(step.model, step.images);
  Progress progress(static_cast<int64_t>(layers.size()) + 1, "timings");
  int64_t done = 0;
  profile.steps = bench::time_steps(step, norms, effort);
  progress.update(++done, "whole steps");
  for (const auto& layer : layers) {
    profile.layers.push_back(bench::time_layer(layer, step, norms, effort));
    progress.update(++done, layer.names.front());
  }
  return profile;
}

void run_profile(const ProfileOptions& options, const std::string& command) {
  std::optional<JsonFile> file;
  if (!options.json.empty()) file.emplace(options.json);
  auto record = record_header(command);
  warn_of_load();

  const int64_t side = options.side > 0 ? options.side : models::model_info(options.model).side;
  const int64_t batch = options.batch > 0 ? options.batch : side < 64 ? 128 : 32;
  fmt::print("{}, {} images of {} x {}, float32, channels_last, on {}\n\n", options.model, batch, side, side,
             machine_line());
  const auto step = bench::make_step_case(options.model, batch, side);
  const auto profile =
      measure(step, norms_of(options.norms), options.quick ? bench::kQuickEffort : bench::kProfileEffort);
  print_layers(profile);
  print_norms(profile);
  fmt::print("\nWith {} normalization, with the ReLU and the residual fused into it, takes {} of a training step.\n",
             profile.norms.front(), percent(bench::share(profile, 0)));
  if (!file) return;
  record.update(profile_record(profile));
  record["model"] = options.model;
  record["batch"] = batch;
  record["side"] = side;
  file->write(record);
}

}  // namespace

void add_profile(CLI::App& program, const std::string& command) {
  CLI::App* profile = program.add_subcommand(
      "profile", "How much of a training step is normalization, layer by layer, and what each norm saves");
  auto options = std::make_shared<ProfileOptions>();
  profile->add_option("--model", options->model, "The network: resnet20, resnet50, densenet121, ...")
      ->required()
      ->check(CLI::Validator(problem_of_model, "", "model"));
  add_norm_list(*profile, options->norms, "Norms to time; savings are against the first");
  profile->add_option("--batch", options->batch, "Images in a step; by default 128 small ones or 32 large ones")
      ->check(CLI::PositiveNumber);
  profile->add_option("--side", options->side, "Height and width of the images; by default the model's own")
      ->check(CLI::PositiveNumber);
  profile->add_flag("--quick", options->quick, "Fewer rounds: figures to look at, not to publish");
  profile->add_option("--json", options->json, "Write the figures to this file too");
  profile->footer("Example:\n  samplenorm profile --model resnet50 --norm torch,LS-1/64,none --batch 16");
  profile->callback([options, command] { run_profile(*options, command); });
}

}  // namespace samplenorm::cli
