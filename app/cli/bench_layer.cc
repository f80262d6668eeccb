#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/layer_timing.h"
#include "cli/machine.h"
#include "cli/norm_list.h"
#include "cli/progress.h"
#include "cli/quartiles.h"
#include "cli/text_table.h"
#include "models/norm_by_name.h"

namespace samplenorm::cli {
namespace {

// Layers of ResNets: on ImageNet's images, then on CIFAR's.
const std::vector<int64_t> kShapes[] = {{32, 64, 56, 56}, {32, 256, 14, 14}, {128, 16, 32, 32}, {128, 64, 8, 8}};
constexpr torch::MemoryFormat kFormats[] = {torch::MemoryFormat::ChannelsLast, torch::MemoryFormat::Contiguous};
constexpr Effort kFullEffort{15, 2.0};
constexpr Effort kQuickEffort{5, 0.3};

struct BenchOptions {
  std::string norms = kDefaultNorms;
  bool quick = false;
  std::string json;
};

/// libtorch's, which all ratios refer to, comes first, asked for or not.
std::vector<std::string> contenders(const std::string& list) {
  auto norms = split_norm_list(list);
  std::erase(norms, models::kTorchBatchNorm);
  norms.insert(norms.begin(), models::kTorchBatchNorm);
  return norms;
}

void print(const LayerCase& layer_case, const std::vector<LayerTiming>& timings) {
  std::vector<std::vector<std::string>> rows{
      {describe(layer_case), "sampled", "ms", "quartiles", "torch/it", "it/copy"}};
  for (const auto& timing : timings) {
    const auto spread = quartiles(timing.seconds);
    const bool is_copy = &timing == &timings.back();
    rows.push_back({timing.name, is_copy ? "" : fmt::format("{:.1f} %", 100 * timing.sampled),
                    fmt::format("{:.2f}", 1e3 * spread.median),
                    fmt::format("{:.2f}-{:.2f}", 1e3 * spread.first, 1e3 * spread.third),
                    fmt::format("{:.2f}", median_ratio(timings.front().seconds, timing.seconds)),
                    fmt::format("{:.2f}", median_ratio(timing.seconds, timings.back().seconds))});
  }
  fmt::print("{}\n", text_table(rows));
}

void add_records(nlohmann::json& records, const LayerCase& layer_case, const std::vector<LayerTiming>& timings) {
  for (const auto& timing : timings) {
    const auto spread = quartiles(timing.seconds);
    records.push_back({{"shape", layer_case.sizes},
                       {"format", format_name(layer_case.format)},
                       {"norm", timing.name},
                       {"sampled", timing.sampled},
                       {"rounds", timing.seconds.size()},
                       {"seconds", {{"q1", spread.first}, {"median", spread.median}, {"q3", spread.third}}},
                       {"speed_to_torch", median_ratio(timings.front().seconds, timing.seconds)},
                       {"time_to_copy", median_ratio(timing.seconds, timings.back().seconds)}});
  }
}

void run_bench_layer(const BenchOptions& options, const std::string& command) {
  std::optional<JsonFile> file;
  if (!options.json.empty()) file.emplace(options.json);

  const auto norms = contenders(options.norms);
  fmt::print("Norm and ReLU, forward and backward, float32, on {}\n\n", machine_line());
  auto records = nlohmann::json::array();
  int64_t done = 0;
  Progress progress(std::size(kShapes) * std::size(kFormats), "cases");
  for (const auto& shape : kShapes) {
    for (const auto format : kFormats) {
      const LayerCase layer_case{shape, format};
      const auto tensors = make_tensors(layer_case);
      check_batch_norm(layer_case, tensors);
      const auto timings = time_layer(layer_case, tensors, norms, options.quick ? kQuickEffort : kFullEffort);
      progress.clear();
      print(layer_case, timings);
      std::fflush(stdout);
      add_records(records, layer_case, timings);
      progress.update(++done, describe(layer_case));
    }
  }
  if (!file) return;
  auto record = record_header(command);
  record["measurements"] = std::move(records);
  file->write(record);
}

}  // namespace

void add_bench_layer(CLI::App& bench, const std::string& command) {
  CLI::App* layer = bench.add_subcommand("layer", "Time one layer, norm and ReLU, forward and backward");
  auto options = std::make_shared<BenchOptions>();
  add_norm_list(*layer, options->norms, "Norms to time; 'torch', libtorch's BatchNorm2d, is always there");
  layer->add_flag("--quick", options->quick, "Fewer rounds: seconds instead of a minute");
  layer->add_option("--json", options->json, "Write the measurements to this file too");
  layer->footer("Example:\n  samplenorm bench layer --norm BN,LS-1/64 --json layer.json");
  layer->callback([options, command] { run_bench_layer(*options, command); });
}

}  // namespace samplenorm::cli
