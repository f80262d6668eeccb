#include "train/trained.h"

#include <fmt/format.h>

#include <algorithm>

#include "samplenorm/error.h"
#include "train/evaluation.h"
#include "train/state.h"

namespace samplenorm::train {

int64_t last_epoch(const Checkpoint& checkpoint) {
  return std::max<int64_t>(0, checkpoint.epoch - (checkpoint.step == 0 ? 1 : 0));
}

std::shared_ptr<Trainee> trainee_of(const Checkpoint& checkpoint, const Recipe& recipe, const data::DataSet& set,
                                    const std::string& where, const models::MakeNorm& make_norm) {
  auto trainee = std::make_shared<Trainee>(recipe, set, model_options(recipe, set, make_norm));
  restore(trainee->network(), checkpoint.tensors, where);
  trainee->eval();
  return trainee;
}

std::shared_ptr<Trainee> trained(const TrainerOptions& options, const data::DataSet& set,
                                 const std::function<void(const std::string&)>& warn) {
  const auto checkpoint = CheckpointFolder(options.folder).newest(warn);
  if (!checkpoint) throw Error(fmt::format("there is no whole checkpoint in {}", options.folder.string()));
  const std::string where = "the checkpoint in " + options.folder.string();
  if (const auto other = difference(recipe_from_json(checkpoint->recipe, where), options.recipe))
    throw Error(fmt::format("{} is of another recipe: {}", where, *other));

  auto trainee = trainee_of(*checkpoint, options.recipe, set, where, options.make_norm);
  data::Loader training(set, loader_options(options.recipe, /*training=*/true));
  trainee->add_virtual_rows(training);
  trainee->eval();  // the virtual rows too
  set_epoch(*trainee, static_cast<uint64_t>(last_epoch(*checkpoint)));
  set_step(*trainee, static_cast<uint64_t>(checkpoint->epoch * training.steps() + checkpoint->step));
  return trainee;
}

}  // namespace samplenorm::train
