#pragma once

// A network's accuracy on the test half, with its running statistics and with recalibrated ones.

#include <functional>
#include <memory>
#include <optional>

#include "data/loader.h"
#include "samplenorm/communicator.h"
#include "train/checkpoint.h"
#include "train/scores.h"
#include "train/trainee.h"

namespace samplenorm::train {

struct Evaluation {
  Scores scores;
  std::optional<Scores> recalibrated;  ///< if the recipe asks for it
};

/// Of all images, or of the share of one of several processes.
data::LoaderOptions loader_options(const Recipe& recipe, bool training, int rank = 0, int ranks = 1);

/// Where the images come from, and who else evaluates.
struct EvaluationInputs {
  const data::DataSet& set;
  data::Loader& training;  ///< whole batches, the same for every process
  data::Loader& test;      ///< this process's share
  std::function<bool()> stop_asked = [] { return false; };
  std::shared_ptr<Communicator> communicator = single_process();
};

/// Statistics are recalibrated with the first batches of `epoch`, from 0. Leaves the trainee in evaluation mode, and
/// otherwise as it was. Nothing if stop_asked() said so meanwhile, in any process.
std::optional<Evaluation> evaluate_trainee(Trainee& trainee, const Recipe& recipe, int64_t epoch,
                                           const EvaluationInputs& inputs);

/// The network in a checkpoint, whose recipe may be changed where it does not decide the weights. `where` names the
/// checkpoint. Throws Error.
Evaluation evaluate_checkpoint(const Checkpoint& checkpoint, const Recipe& recipe, const data::DataSet& set,
                               const std::string& where);

}  // namespace samplenorm::train
