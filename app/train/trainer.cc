#include "train/trainer.h"

#include "train/run.h"

namespace samplenorm::train {

data::DataSet open_data(const Recipe& recipe) {
  data::DataOptions options;
  options.name = recipe.data;
  options.folder = recipe.data_folder;
  options.strict = recipe.strict;
  options.limit = recipe.limit;
  return data::open_data_set(options);
}

bool holds_run(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "recipe.json") || !CheckpointFolder(folder).files().empty();
}

TrainingResult train(const TrainerOptions& options, const data::DataSet& set, Listener& listener) {
  Run run(options, set, listener);
  run.open_folder();
  listener.on_begin(run.steps_done(), run.steps_in_all());
  while (!run.done()) {
    if (!run.train_epoch() || !run.evaluate_epoch()) {
      run.save_checkpoint();
      return run.result(/*stopped=*/true);
    }
    run.next_epoch();
    run.save_checkpoint();
  }
  return run.result(/*stopped=*/false);
}

}  // namespace samplenorm::train
