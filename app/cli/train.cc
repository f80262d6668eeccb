#include <fmt/format.h>

#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/json_file.h"
#include "cli/machine.h"
#include "cli/processes.h"
#include "cli/recipe_options.h"
#include "cli/stop_signal.h"
#include "cli/train_report.h"
#include "train/processes.h"
#include "train/trainer.h"

namespace samplenorm::cli {
namespace {

struct TrainOptions {
  RecipeOptions recipe;
  std::string out;
  bool resume = false;
  bool quiet = false;
  std::string json;
};

/// The recipe of the folder's run, for a --resume that does not name one.
std::optional<train::Recipe> stored_recipe(const std::filesystem::path& folder) {
  const auto file = folder / "recipe.json";
  if (!std::filesystem::exists(file)) return {};
  return train::find_recipe(file.string());
}

train::TrainerOptions trainer_options(const TrainOptions& options, const std::string& command,
                                      const std::shared_ptr<Communicator>& processes) {
  train::TrainerOptions trainer;
  trainer.communicator = processes;
  trainer.recipe = resolve(options.recipe, {});
  trainer.folder = options.out.empty() ? default_run_folder(trainer.recipe) : std::filesystem::path(options.out);
  trainer.resume = options.resume;
  if (options.resume) {
    if (const auto stored = stored_recipe(trainer.folder)) trainer.recipe = resolve(options.recipe, *stored);
  }
  // Only rank 0 needs to see the folder.
  const std::string shared = train::broadcast_text(*processes, train::to_json(trainer.recipe));
  trainer.recipe = train::recipe_from_json(shared, "rank 0's recipe");
  trainer.description = record_header(command).dump();
  trainer.stop_asked = [] { return StopSignal::received() != 0; };
  return trainer;
}

/// "", or what several processes do.
std::string processes_line(const train::TrainerOptions& options) {
  const int ranks = options.communicator->size();
  if (ranks == 1) return "";
  return fmt::format(", {} processes, statistics {}", ranks, options.recipe.sync ? "pooled over them" : "local");
}

void write_json(JsonFile& file, const train::TrainerOptions& options, const train::TrainingResult& result) {
  auto record = nlohmann::json::parse(options.description);
  record["recipe"] = nlohmann::json::parse(train::to_json(options.recipe));
  record["run"] = options.folder.string();
  record["checkpoint"] = result.checkpoint.string();
  record["epochs"] = nlohmann::json::array();
  for (const auto& epoch : result.epochs) record["epochs"].push_back(to_json(epoch));
  record["ranks"] = options.communicator->size();
  record["traffic"] = to_json(result.traffic);
  file.write(record);
}

void run_train(const TrainOptions& options, const std::string& command) {
  const auto processes = join_processes();
  const bool first = processes->rank() == 0;
  std::optional<JsonFile> file;
  if (first && !options.json.empty()) file.emplace(options.json);
  const auto trainer = trainer_options(options, command, processes);
  const auto set = train::open_data(trainer.recipe);
  if (first && !options.quiet)
    fmt::print(stderr, "{} on {} ({} images) with {}, in {}, on {}{}\n", trainer.recipe.model, set.name,
               set.train->size(), train::full_notation(trainer.recipe), trainer.folder.string(), machine_line(),
               processes_line(trainer));

  const StopSignal stop;
  TrainReport report(trainer.recipe.epochs, options.quiet);
  train::Listener nobody;
  const auto result = train::train(trainer, set, first ? report : nobody);
  report.end();
  if (result.stopped)
    throw Stopped(StopSignal::received() != 0 ? StopSignal::received() : SIGTERM,
                  fmt::format("stopped, with all steps in {}; to go on: samplenorm train --resume --out {}",
                              result.checkpoint.string(), trainer.folder.string()));
  if (!first) return;
  fmt::print("{}\n", summary(result));
  if (processes->size() > 1) fmt::print("{}\n", summary(result.traffic));
  fmt::print("{}\n", result.checkpoint.string());
  if (file) write_json(*file, trainer, result);
}

}  // namespace

void add_train(CLI::App& program, const std::string& command) {
  CLI::App* train =
      program.add_subcommand("train", "Train a network by a recipe; a run that was stopped can be resumed");
  auto options = std::make_shared<TrainOptions>();
  add_recipe_options(*train, options->recipe);
  train->add_option("--out", options->out, "Folder of the run (default: runs/MODEL-DATA-NORM-SEED)");
  train->add_flag("--resume", options->resume, "Go on from the newest checkpoint of the folder");
  train->add_flag("--quiet", options->quiet, "No progress, and no line for each epoch");
  train->add_option("--json", options->json, "Write the figures to this file too");
  train->footer(
      describe_fields() +
      "\nSIGINT, SIGTERM, SIGUSR1 and SIGHUP stop a run after its step, with a checkpoint; the exit status is then\n"
      "130, 143, 138 or 129. Under nohup SIGHUP is ignored. mpirun passes SIGUSR1 on to its processes.\n"
      "\nExample:\n  samplenorm train --model resnet20 --data cifar10 --recipe quick --norm LS-1/64\n"
      "  mpirun -n 4 samplenorm train --model resnet20 --data cifar10 --norm BS-4/128 --sync");
  train->callback([options, command] { run_train(*options, command); });
}

}  // namespace samplenorm::cli
