#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/goals.h"
#include "bench/layer_bench.h"
#include "bench/layer_case.h"
#include "bench/onednn.h"
#include "bench/quartiles.h"
#include "cli/background.h"
#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/layer_record.h"
#include "cli/machine.h"
#include "cli/norm_list.h"
#include "cli/progress.h"
#include "cli/text_table.h"
#include "models/norm_by_name.h"

namespace samplenorm::cli {
namespace {

using bench::Measurement;
using bench::Measurements;
using bench::Seconds;

struct BenchOptions {
  std::string norms = kDefaultNorms;
  std::vector<std::string> shapes;
  bool quick = false, ring = false;
  std::string json;
};

/// libtorch's, which ratios refer to, comes first, asked for or not.
std::vector<std::string> contenders(const std::string& list) {
  auto norms = split_norm_list(list);
  std::erase(norms, models::kTorchBatchNorm);
  norms.insert(norms.begin(), models::kTorchBatchNorm);
  return norms;
}

/// "32,64,56,56"; empty unless it is four positive numbers.
std::vector<int64_t> parse_shape(const std::string& text) {
  std::vector<int64_t> sizes;
  for (const auto& word : CLI::detail::split(text, ',')) {
    int64_t size = 0;
    if (!CLI::detail::lexical_cast(word, size) || size <= 0) return {};
    sizes.push_back(size);
  }
  return sizes.size() == 4 ? sizes : std::vector<int64_t>();
}

std::vector<std::vector<int64_t>> shapes_to_time(const std::vector<std::string>& names, bool ring) {
  if (names.empty()) return ring ? bench::ring_shapes() : bench::standard_shapes();
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& name : names) shapes.push_back(parse_shape(name));
  return shapes;
}

std::string ratio(const Measurement* rival, const Measurement& measurement) {
  return rival == nullptr ? "" : fmt::format("{:.2f}", bench::speed_against(*rival, measurement));
}

/// One table for a shape in one memory format; what has no format (oneDNN, the limit) stands in both.
void print(const Measurements& all, const std::vector<int64_t>& shape, const std::string& format) {
  std::vector<std::vector<std::string>> rows{{bench::shape_name(shape) + " " + format, "sampled", "forward ms",
                                              "backward ms", "both ms", "quartiles", "torch/it", "limit/it"}};
  for (const auto& measurement : all) {
    if (measurement.sizes != shape || !(measurement.format.empty() || measurement.format == format)) continue;
    Measurement in_format = measurement;
    in_format.format = format;
    const auto median = [&](bench::Phase phase) {
      return fmt::format("{:.3f}", 1e3 * bench::quartiles(measurement.seconds.*phase).median);
    };
    const auto both = bench::quartiles(measurement.seconds.both);
    rows.push_back({fmt::format("{}: {} {}", name_of(measurement.fusion), measurement.norm, measurement.path),
                    measurement.norm == bench::kLimit ? "" : fmt::format("{:.1f} %", 100 * measurement.sampled),
                    median(&Seconds::forward), median(&Seconds::backward), median(&Seconds::both),
                    fmt::format("{:.3f}-{:.3f}", 1e3 * both.first, 1e3 * both.third),
                    ratio(bench::find(all, in_format, bench::kTorch, bench::kAutograd), measurement),
                    ratio(bench::find(all, in_format, bench::kLimit, ""), measurement)});
  }
  fmt::print("{}\n", text_table(rows));
}

void print_goals(const std::vector<bench::Goal>& goals) {
  std::vector<std::vector<std::string>> rows{{"goal (larger is better)", "value", "must", "aim", "verdict"}};
  for (const auto& goal : goals) {
    rows.push_back({goal.id + (goal.format.empty() ? "" : ", " + goal.format + " alone"),
                    goal.value ? fmt::format("{:.2f}", *goal.value) : "null", fmt::format("{:.2f}", goal.must),
                    fmt::format("{:.2f}", goal.aim), bench::verdict(goal)});
  }
  fmt::print("{}", text_table(rows));
}

void run_bench_layer(const BenchOptions& options, const std::string& command) {
  std::optional<JsonFile> file;
  if (!options.json.empty()) file.emplace(options.json);
  auto record = record_header(command);
  const Undisturbed undisturbed;

  const auto norms = contenders(options.norms);
  const auto shapes = shapes_to_time(options.shapes, options.ring);
  const auto fusions = options.ring ? std::vector{bench::Fusion::kNone, bench::Fusion::kRelu}
                                    : std::vector(std::begin(bench::kFusions), std::end(bench::kFusions));
  const auto& effort = options.quick ? bench::kQuickEffort : bench::kFullEffort;
  fmt::print("One layer, forward and backward, float32, {}on {}, {}\n\n",
             options.ring ? "of a ring of layers, which a network is, " : "", machine_line(), bench::onednn_version());
  Measurements all;
  int64_t done = 0;
  Progress progress(static_cast<int64_t>(shapes.size() * fusions.size()), "cases");
  for (const auto& shape : shapes) {
    for (const auto fusion : fusions) {
      auto measurements = (options.ring ? bench::bench_ring : bench::bench_layer)(shape, fusion, norms, effort);
      all.insert(all.end(), std::make_move_iterator(measurements.begin()), std::make_move_iterator(measurements.end()));
      progress.update(++done, fmt::format("{} on {}", name_of(fusion), bench::shape_name(shape)));
    }
    progress.clear();
    for (const char* format : {bench::kChannelsLast, bench::kContiguous}) print(all, shape, format);
    std::fflush(stdout);
  }
  const auto goals = options.ring ? bench::ring_goals(all) : bench::goals(all);
  const auto by_format = options.ring ? std::vector<bench::Goal>() : bench::goals_by_format(all);
  print_goals(goals);
  if (!options.ring) print_goals(by_format);
  if (!file) return;
  record["ring"] = options.ring;
  record["onednn"] = bench::onednn_version();
  record["measurements"] = measurement_records(all);
  record["goals"] = goal_records(goals);
  record["goals_by_format"] = goal_records(by_format);
  file->write(record);
}

}  // namespace

void add_bench_layer(CLI::App& bench, const std::string& command) {
  CLI::App* layer =
      bench.add_subcommand("layer", "Time one layer, forward and backward, against its rivals and limits");
  auto options = std::make_shared<BenchOptions>();
  add_norm_list(*layer, options->norms, "Norms to time; 'torch', libtorch's BatchNorm2d, is always there");
  layer->add_option("--shape", options->shapes, "Shapes to time instead of those of ResNets; may be repeated")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_shape(text).empty() ? "expected four positive numbers N,C,H,W, got " + text : std::string();
          },
          "", "shape"))
      ->allow_extra_args(false)
      ->type_name("N,C,H,W");
  layer->add_flag(
      "--ring", options->ring,
      "Over a ring of layers with tensors of their own, as in a network: none is in the cache when its turn comes");
  layer->add_flag("--quick", options->quick, "Fewer rounds: figures to look at, not to publish");
  layer->add_option("--json", options->json, "Write the measurements to this file too");
  layer->footer("Example:\n  samplenorm bench layer --shape 32,64,56,56 --norm BN,LS-1/64 --json layer.json");
  layer->callback([options, command] { run_bench_layer(*options, command); });
}

}  // namespace samplenorm::cli
