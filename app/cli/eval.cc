#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/machine.h"
#include "samplenorm/error.h"
#include "train/checkpoint.h"
#include "train/evaluation.h"
#include "train/trainer.h"

namespace samplenorm::cli {
namespace {

struct EvalOptions {
  std::filesystem::path what;
  int64_t recalibrate = -1;
  int64_t workers = 0;
  std::string data_folder;
  std::string json;
};

struct Found {
  train::Checkpoint checkpoint;
  std::string where;
};

Found find_checkpoint(const std::filesystem::path& what) {
  if (std::filesystem::is_regular_file(what)) return {train::read_checkpoint(what), what.string()};
  if (!std::filesystem::is_directory(what))
    throw Error(fmt::format("there is no run and no checkpoint {}", what.string()));
  const train::CheckpointFolder folder(what);
  auto checkpoint =
      folder.newest([](const std::string& sentence) { fmt::print(stderr, "samplenorm: {}\n", sentence); });
  if (!checkpoint) throw Error(fmt::format("there is no whole checkpoint in {}", what.string()));
  return {std::move(*checkpoint), what.string()};
}

train::Recipe recipe_of(const Found& found, const EvalOptions& options) {
  auto recipe = train::recipe_from_json(found.checkpoint.recipe, found.where);
  if (options.recalibrate >= 0) recipe.recalibrate = options.recalibrate;
  if (options.workers > 0) recipe.workers = options.workers;
  if (!options.data_folder.empty()) recipe.data_folder = options.data_folder;
  return recipe;
}

void print(const char* title, const train::Scores& scores) {
  fmt::print("{}top-1 {:.2f} %, top-5 {:.2f} %, loss {:.4f}\n", title, 100 * scores.top1, 100 * scores.top5,
             scores.loss);
}

nlohmann::json to_json(const train::Scores& scores) {
  return {{"top1", scores.top1}, {"top5", scores.top5}, {"loss", scores.loss}};
}

void run_eval(const EvalOptions& options, const std::string& command) {
  std::optional<JsonFile> file;
  if (!options.json.empty()) file.emplace(options.json);
  const auto found = find_checkpoint(options.what);
  const auto recipe = recipe_of(found, options);
  const auto set = train::open_data(recipe);
  fmt::print(stderr, "{} with {} on {} ({} test images), {} epochs and {} steps trained\n", recipe.model,
             train::full_notation(recipe), set.name, set.test->size(), found.checkpoint.epoch, found.checkpoint.step);
  const auto evaluation = train::evaluate_checkpoint(found.checkpoint, recipe, set, found.where);
  print("", evaluation.scores);
  if (evaluation.recalibrated) print("recalibrated: ", *evaluation.recalibrated);
  if (!file) return;

  auto record = record_header(command);
  record["recipe"] = nlohmann::json::parse(train::to_json(recipe));
  record["epoch"] = found.checkpoint.epoch;
  record["step"] = found.checkpoint.step;
  record["scores"] = to_json(evaluation.scores);
  record["recalibrated"] = evaluation.recalibrated ? to_json(*evaluation.recalibrated) : nlohmann::json();
  file->write(record);
}

}  // namespace

void add_eval(CLI::App& program, const std::string& command) {
  CLI::App* eval = program.add_subcommand("eval", "Accuracy of a trained network on the test images");
  auto options = std::make_shared<EvalOptions>();
  eval->add_option("WHAT", options->what, "Folder of a run, whose newest checkpoint is taken, or a checkpoint")
      ->required();
  eval->add_option("--recalibrate", options->recalibrate,
                   "Evaluate also with running statistics recomputed over so many training batches")
      ->check(CLI::NonNegativeNumber);
  eval->add_option("--workers", options->workers, "Threads that read images")->check(CLI::PositiveNumber);
  eval->add_option("--data-folder", options->data_folder, "Where the data set is");
  eval->add_option("--json", options->json, "Write the figures to this file too");
  eval->footer("Example:\n  samplenorm eval runs/resnet20-cifar10-LS-1_64-1 --recalibrate 100");
  eval->callback([options, command] { run_eval(*options, command); });
}

}  // namespace samplenorm::cli
