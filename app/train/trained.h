#pragma once

// The network of a checkpoint, for use after training.

#include <functional>
#include <memory>
#include <string>

#include "train/checkpoint.h"
#include "train/trainee.h"
#include "train/trainer.h"

namespace samplenorm::train {

/// The epoch, from 0, of the last step before the checkpoint.
int64_t last_epoch(const Checkpoint& checkpoint);

/// The network in a checkpoint, without virtual rows: enough for evaluation. `where` names the checkpoint. Throws
/// Error.
std::shared_ptr<Trainee> trainee_of(const Checkpoint& checkpoint, const Recipe& recipe, const data::DataSet& set,
                                    const std::string& where, const models::MakeNorm& make_norm = {});

/// The network in the newest whole checkpoint of `options.folder`, as train() left it: with the virtual rows that its
/// norm wants, samples drawn for the last epoch that was trained, and the step that would come next. It is in
/// evaluation mode. Of the options `recipe`, `folder` and `make_norm` count; train() must have had the same. For each
/// damaged checkpoint warn(sentence that names it) is called. Throws Error, also if there is no whole checkpoint.
std::shared_ptr<Trainee> trained(
    const TrainerOptions& options, const data::DataSet& set,
    const std::function<void(const std::string&)>& warn = [](const std::string&) {});

}  // namespace samplenorm::train
