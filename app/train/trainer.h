#pragma once

// A training run from its recipe to its last checkpoint, in a folder of its own. Every step is a function of (recipe,
// step) and the weights before it, so that a run that was killed and resumed ends with the same weights, to the last
// bit, as one that was not (with the same number of threads and processes).

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/data_set.h"
#include "models/model.h"
#include "record/run_folder.h"
#include "samplenorm/communicator.h"
#include "samplenorm/error.h"
#include "train/recipe.h"

namespace samplenorm::train {

/// Hears what happens. By default nothing is done.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Of `total` steps of the run `done` were done before.
  virtual void on_begin(int64_t /*done*/, int64_t /*total*/) {}
  virtual void on_step(const record::StepRecord&) {}
  virtual void on_epoch(const record::EpochRecord&) {}
  /// One sentence; the run goes on.
  virtual void on_warning(const std::string&) {}
};

struct TrainerOptions {
  Recipe recipe;
  std::filesystem::path folder;
  /// Goes on from the folder's newest checkpoint, or from the beginning where there is none.
  bool resume = false;
  /// What recipe.json says beside the recipe: a JSON object, or empty.
  std::string description;
  /// Asked between steps; true: writes a checkpoint and returns.
  std::function<bool()> stop_asked = [] { return false; };
  /// The processes that train together, each of which calls train() with its own; rank 0 writes all files.
  std::shared_ptr<Communicator> communicator = single_process();
  /// Where set, makes the network's norms instead of the recipe's `norm` and `activation`. Their parameters and buffers
  /// are saved in checkpoints and restored, so a buffer must keep its size and type; parameters are to be those of the
  /// recipe's norm if the recipe recalibrates. To resume, give the same function again: recipe.json does not know it.
  models::MakeNorm make_norm = {};
};

/// The loss or a weight is not a number any more, or infinite: where that began, and the last checkpoint.
class Diverged : public Error {
 public:
  using Error::Error;
};

/// What a process sent to the others in its training steps, on average over the processes.
struct TrainingTraffic {
  Traffic statistics;  ///< of samples pooled over processes
  Traffic gradients;
  int64_t steps = 0;  ///< of this process, those before resuming not included
};

struct TrainingResult {
  bool stopped = false;                     ///< because of stop_asked, on any rank
  std::filesystem::path checkpoint;         ///< the newest; empty on other ranks than 0
  std::vector<record::EpochRecord> epochs;  ///< all that were evaluated, those before resuming included; on rank 0
  TrainingTraffic traffic;
};

/// The recipe's data set. Throws Error.
data::DataSet open_data(const Recipe& recipe);

/// Whether there is a run in the folder.
bool holds_run(const std::filesystem::path& folder);

/// Throws Error: for a folder with a run in it without `resume`, for a checkpoint of another recipe, Diverged, and
/// whatever its parts throw.
TrainingResult train(const TrainerOptions& options, const data::DataSet& set, Listener& listener);

}  // namespace samplenorm::train
