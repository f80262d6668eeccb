#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/machine.h"
#include "cli/norm_list.h"
#include "cli/race.h"
#include "cli/text_table.h"
#include "data/fashion_mnist.h"

namespace samplenorm::cli {
namespace {

struct DemoOptions {
  std::string norms = kDefaultNorms;
  RaceOptions race;
  int64_t limit = 0;
  std::string folder = data::kFashionMnistFolder;
  std::string json;
};

void print(const std::vector<RaceResult>& results) {
  std::vector<std::vector<std::string>> rows{
      {"norm", "test accuracy", "training loss", "images/s", "speed to " + results.front().norm}};
  for (const auto& result : results) {
    rows.push_back({result.norm, fmt::format("{:.2f} %", 100 * result.test_accuracy),
                    fmt::format("{:.4f}", result.training_loss), fmt::format("{:.0f}", result.images_per_second),
                    fmt::format("{:.2f}x", result.relative_speed)});
  }
  fmt::print("{}", text_table(rows));
}

nlohmann::json to_json(const std::vector<RaceResult>& results) {
  auto list = nlohmann::json::array();
  for (const auto& result : results) {
    const auto& seconds = result.step_seconds;
    list.push_back({{"norm", result.norm},
                    {"test_accuracy", result.test_accuracy},
                    {"training_loss", result.training_loss},
                    {"images_per_second", result.images_per_second},
                    {"relative_speed", result.relative_speed},
                    {"step_seconds", {{"q1", seconds.first}, {"median", seconds.median}, {"q3", seconds.third}}}});
  }
  return list;
}

void run_demo(DemoOptions options, const std::string& command) {
  std::optional<JsonFile> file;
  if (!options.json.empty()) file.emplace(options.json);

  auto images = data::load_fashion_mnist(options.folder);
  if (options.limit > 0) {
    images.train = {images.train.images.slice(0, 0, options.limit), images.train.labels.slice(0, 0, options.limit)};
  }
  options.race.norms = split_norm_list(options.norms);
  fmt::print(stderr, "Fashion-MNIST, {} images, {} epoch(s), batch {}, on {}\n", images.train.images.size(0),
             options.race.epochs, options.race.batch, machine_line());
  const auto results = race(options.race, images);
  print(results);
  if (!file) return;

  auto record = record_header(command);
  record["data"] = "Fashion-MNIST";
  record["training_images"] = images.train.images.size(0);
  record["epochs"] = options.race.epochs;
  record["batch"] = options.race.batch;
  record["seed"] = options.race.seed;
  record["results"] = to_json(results);
  file->write(record);
}

}  // namespace

void add_demo(CLI::App& program, const std::string& command) {
  CLI::App* demo = program.add_subcommand("demo", "Train a small network on Fashion-MNIST, once with each norm");
  auto options = std::make_shared<DemoOptions>();
  add_norm_list(*demo, options->norms, "Norms to compare; 'torch' is libtorch's BatchNorm2d");
  demo->add_option("--epochs", options->race.epochs, "Passes over the data")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  demo->add_option("--batch", options->race.batch, "Images in a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  demo->add_option("--limit", options->limit, "Train on the first so many images only (0: all)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  demo->add_option("--seed", options->race.seed, "Of weights, order and samples")->capture_default_str();
  demo->add_option("--data", options->folder, "Folder with Fashion-MNIST's four files")->capture_default_str();
  demo->add_option("--json", options->json, "Write the figures to this file too");
  demo->footer("Example:\n  samplenorm demo --norm torch,LS-1/64,FS-1/64+VDN-2/128 --epochs 2");
  demo->callback([options, command] { run_demo(*options, command); });
}

}  // namespace samplenorm::cli
