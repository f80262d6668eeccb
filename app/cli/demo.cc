#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/background.h"
#include "cli/commands.h"
#include "cli/fetch_if_missing.h"
#include "cli/json_file.h"
#include "cli/machine.h"
#include "cli/norm_list.h"
#include "cli/race.h"
#include "cli/text_table.h"
#include "record/study_file.h"
#include "report/report.h"
#include "samplenorm/error.h"
#include "study/loss_curve.h"
#include "train/trainer.h"

namespace samplenorm::cli {
namespace {

struct DemoOptions {
  std::string norms = kDefaultNorms;
  train::Recipe recipe = {.model = "small", .data = "", .epochs = 1};
  std::string json;
  std::filesystem::path out = "demo";
};

/// The data set that was asked for; else CIFAR-10, and where it cannot be had Fashion-MNIST, which Debian has.
data::DataSet open_data(train::Recipe& recipe) {
  if (recipe.data.empty()) {
    recipe.data = "cifar10";
    try {
      fetch_if_missing(recipe.data);
    } catch (const Error& error) {
      fmt::print(stderr, "samplenorm: {}; Fashion-MNIST instead\n", error.what());
      recipe.data = "fashion-mnist";
    }
  }
  return train::open_data(recipe);
}

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

/// Where the report is: it takes the place of an earlier demo's.
std::filesystem::path write_report(const DemoOptions& options, const std::vector<RaceResult>& results,
                                   const data::DataSet& set, const nlohmann::json& header) {
  constexpr const char* kStudy = "demo";
  std::error_code nothing_there;
  std::filesystem::remove(options.out / "demo.jsonl", nothing_there);
  record::StudyFile file(options.out, kStudy, "quick", header);
  for (const auto& result : results) {
    nlohmann::json fields{{"model", options.recipe.model},
                          {"data", set.name},
                          {"images", set.train->size()},
                          {"epochs", options.recipe.epochs},
                          {"norm", result.norm},
                          {"top1", result.test_accuracy},
                          {"train_loss", result.training_loss},
                          {"images_per_second", result.images_per_second},
                          {"speed", result.relative_speed}};
    fields.update(study::loss_curve(result.losses));
    file.add(result.norm, fields);
  }
  const auto page = options.out / "report.html";
  report::write_report({options.out}, page);
  return page;
}

void run_demo(DemoOptions options, const std::string& command) {
  std::optional<JsonFile> file;
  if (!options.json.empty()) file.emplace(options.json);
  auto& recipe = options.recipe;
  const auto set = open_data(recipe);
  fmt::print(stderr, "{} on {}, {} images, {} epoch(s), batch {}, on {}\n", recipe.model, set.name, set.train->size(),
             recipe.epochs, recipe.batch, machine_line());
  const Undisturbed undisturbed;
  const auto results = race(recipe, split_norm_list(options.norms), set);
  print(results);
  auto record = record_header(command);
  fmt::print("\nThe report, to be opened in a browser: {}\n", write_report(options, results, set, record).string());
  if (!file) return;

  record["model"] = recipe.model;
  record["data"] = set.name;
  record["training_images"] = set.train->size();
  record["epochs"] = recipe.epochs;
  record["batch"] = recipe.batch;
  record["seed"] = recipe.seed;
  record["results"] = to_json(results);
  file->write(record);
}

}  // namespace

void add_demo(CLI::App& program, const std::string& command) {
  CLI::App* demo = program.add_subcommand(
      "demo", "Train a small network on CIFAR-10, which it gets if need be, once with each norm");
  auto options = std::make_shared<DemoOptions>();
  auto& recipe = options->recipe;
  add_norm_list(*demo, options->norms, "Norms to compare; 'torch' is libtorch's BatchNorm2d");
  demo->add_option("--model", recipe.model, "The network: small, resnet20, ...")->capture_default_str();
  auto* data = demo->add_option("--data", recipe.data, "The data set: cifar10 (default), fashion-mnist, ...");
  demo->add_option("--data-folder", recipe.data_folder, "Where it is, if not in its usual place")->needs(data);
  demo->add_option("--epochs", recipe.epochs, "Passes over the data")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  demo->add_option("--batch", recipe.batch, "Images in a step")->check(CLI::PositiveNumber)->capture_default_str();
  demo->add_option("--limit", recipe.limit, "Train on so many images only, evenly spread (0: all)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  demo->add_option("--seed", recipe.seed, "Of weights, order and samples")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  demo->add_option("--out", options->out, "Folder of the records and the report")->capture_default_str();
  demo->add_option("--json", options->json, "Write the figures to this file too");
  demo->footer("Example:\n  samplenorm demo --norm torch,LS-1/64,FS-1/64+VDN-2/128 --epochs 2");
  demo->callback([options, command] { run_demo(*options, command); });
}

}  // namespace samplenorm::cli
