#include "cli/profile_prediction.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/profile_text.h"
#include "cli/text_table.h"

namespace samplenorm::cli {
namespace {

constexpr double kGiga = 1e9;
constexpr int64_t kMostCores = 1'000'000;

template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

std::string problem_of_cores(const std::string& text) {
  const auto cores = number_in<int64_t>(text);
  if (cores && *cores >= 1 && *cores <= kMostCores) return "";
  return fmt::format("expected a whole number of cores from 1 to {}, got {}", kMostCores, text);
}

std::string problem_of_bandwidth(const std::string& text) {
  const auto bandwidth = number_in<double>(text);
  if (bandwidth && std::isfinite(*bandwidth) && *bandwidth > 0) return "";
  return "expected gigabytes a second, a number above 0, got " + text;
}

void print_steps(const bench::Profile& profile, const bench::Machine& machine) {
  std::vector<std::vector<std::string>> rows{
      {"norm", "layers ms", "rest ms", "step ms", "layers/step", "speed to " + profile.norms.front()}};
  for (size_t i = 0; i < profile.norms.size(); ++i) {
    const auto step = bench::predict(profile, i, machine);
    if (!step) {
      rows.push_back({profile.norms[i], "not known", "", "", "", ""});
      continue;
    }
    const auto speed = bench::predicted_speed(profile, i, machine);
    rows.push_back({profile.norms[i], milliseconds(step->layers), milliseconds(step->rest), milliseconds(step->step()),
                    percent(step->share()), speed ? fmt::format("{:.2f}", *speed) : ""});
  }
  fmt::print("{}", text_table(rows));
}

void print_check(const bench::Profile& profile, const bench::PredictionCheck& check) {
  fmt::print(
      "\nThe model checked here: the step with {} threads, predicted from {} thread and the {:.1f} GB/s that {} "
      "threads "
      "reach in a copy.\n\n",
      check.machine.cores, check.from_threads, check.machine.bytes_per_second / kGiga, check.machine.cores);
  std::vector<std::vector<std::string>> rows{{"norm", "predicted ms", "measured ms", "error"}};
  for (size_t i = 0; i < profile.norms.size(); ++i) {
    const auto& predicted = check.predicted[i];
    const auto error = bench::error_of(check, i);
    rows.push_back({profile.norms[i], predicted ? milliseconds(predicted->step()) : "not known",
                    milliseconds(check.measured[i]), error ? fmt::format("{:+.1f} %", 100 * *error) : ""});
  }
  fmt::print("{}", text_table(rows));
}

}  // namespace

std::optional<bench::Machine> PredictionOptions::machine() const {
  if (cores == 0) return std::nullopt;
  return bench::Machine{cores, kGiga * gigabytes_per_second};
}

void add_prediction_options(CLI::App& command, PredictionOptions& options) {
  auto* cores = command.add_option("--cores", options.cores, "Predict the step on a machine with so many cores")
                    ->check(CLI::Validator(problem_of_cores, "", "cores"));
  auto* bandwidth =
      command
          .add_option("--bandwidth", options.gigabytes_per_second,
                      "The memory bandwidth of that machine in GB/s (1e9 bytes), read and written together")
          ->check(CLI::Validator(problem_of_bandwidth, "", "bandwidth"));
  cores->needs(bandwidth);
  bandwidth->needs(cores);
}

void print_prediction(const bench::Profile& profile, const bench::Machine& machine,
                      const bench::PredictionCheck* check) {
  fmt::print("\n{} cores, {} GB/s. {}\n", machine.cores, machine.bytes_per_second / kGiga, bench::kPredictionModel);
  for (const char* assumption : bench::kPredictionAssumptions) fmt::print("- {}\n", assumption);
  fmt::print("\n");
  print_steps(profile, machine);
  if (check != nullptr) {
    print_check(profile, *check);
  } else {
    fmt::print("\nThe model is not checked: this takes at least 2 threads.\n");
  }
}

}  // namespace samplenorm::cli
