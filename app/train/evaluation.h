#pragma once

// A network's accuracy on the test half, with its running statistics and with recalibrated ones.

#include <functional>
#include <optional>

#include "data/loader.h"
#include "train/checkpoint.h"
#include "train/scores.h"
#include "train/trainee.h"

namespace samplenorm::train {

struct Evaluation {
  Scores scores;
  std::optional<Scores> recalibrated;  ///< if the recipe asks for it
};

data::LoaderOptions loader_options(const Recipe& recipe, bool training);

/// Statistics are recalibrated with the first batches of `epoch`, from 0. Leaves the trainee in evaluation mode, and
/// otherwise as it was. Nothing if stop_asked() said so meanwhile.
std::optional<Evaluation> evaluate_trainee(Trainee& trainee, const Recipe& recipe, const data::DataSet& set,
                                           int64_t epoch, data::Loader& training, data::Loader& test,
                                           const std::function<bool()>& stop_asked);

/// The network in a checkpoint, whose recipe may be changed where it does not decide the weights. `where` names the
/// checkpoint. Throws Error.
Evaluation evaluate_checkpoint(const Checkpoint& checkpoint, const Recipe& recipe, const data::DataSet& set,
                               const std::string& where);

}  // namespace samplenorm::train
