#include "train/recipe.h"

namespace samplenorm::train {

const std::vector<RecipeField>& recipe_fields() {
  constexpr double kMany = 1e9;
  constexpr bool kSameWeights = false;
  static const std::vector<RecipeField> fields = {
      {"model", &Recipe::model, "network"},
      {"data", &Recipe::data, "data set, or 'folder' for images in a folder for each class"},
      {"data_folder", &Recipe::data_folder, "where the data set is; empty: where `samplenorm data fetch` puts it",
       kSameWeights},
      {"strict", &Recipe::strict, "whether an image that cannot be read ends the run, instead of being skipped",
       kSameWeights},
      {"limit", &Recipe::limit, "train on so many images only, evenly spread; 0: all", true, 0, kMany},
      {"norm", &Recipe::norm, "normalization, as `samplenorm methods` lists them, or 'torch'"},
      {"stat_batch", &Recipe::stat_batch, "rows that are normalized together; 0: all that a process has", true, 0,
       kMany},
      {"sync", &Recipe::sync, "whether the samples' statistics are pooled over the processes that mpirun started"},
      {"activation", &Recipe::activation, "selu goes with norm none", true, 0, 0, {"relu", "selu"}},
      {"epochs", &Recipe::epochs, "passes over the training images", true, 1, kMany},
      {"batch", &Recipe::batch, "images in a step", true, 1, kMany},
      {"rate", &Recipe::rate, "highest learning rate", true, 0},
      {"rate_batch", &Recipe::rate_batch,
       "the batch that `rate` is meant for, to which it is scaled in proportion; 0: `rate` as it stands", true, 0,
       kMany},
      {"schedule",
       &Recipe::schedule,
       "steps: divided by 10 at the milestones; one-cycle: straight up and down to 0; cosine: down to 0",
       true,
       0,
       0,
       {"steps", "one-cycle", "cosine"}},
      {"milestones", &Recipe::milestones, "epochs at which the schedule 'steps' divides the rate by 10"},
      {"warm_up", &Recipe::warm_up, "part of all steps in which the rate rises from 0", true, 0, 1},
      {"momentum", &Recipe::momentum, "of stochastic gradient descent", true, 0, 1},
      {"nesterov", &Recipe::nesterov, "whether the momentum is Nesterov's"},
      {"weight_decay", &Recipe::weight_decay,
       "on the weights of convolutions and linear layers, not on biases and parameters of norms", true, 0},
      {"label_smoothing", &Recipe::label_smoothing, "part of the label that goes to all classes", true, 0, 1},
      {"precision", &Recipe::precision, "of convolutions and activations", true, 0, 0, {"float32", "bfloat16"}},
      {"seed", &Recipe::seed, "of weights, order, augmentation and samples", true, 0},
      {"recalibrate", &Recipe::recalibrate,
       "evaluate a second time with running statistics recomputed over so many batches; 0: do not", kSameWeights, 0,
       kMany},
      {"eval_every", &Recipe::eval_every, "epochs from one evaluation to the next; the last is always evaluated",
       kSameWeights, 1, kMany},
      {"workers", &Recipe::workers, "threads that read and augment images", kSameWeights, 1, 1024},
      {"checkpoint_every", &Recipe::checkpoint_every, "steps from one checkpoint to the next; 0: epochs only",
       kSameWeights, 0, kMany},
      {"checkpoint_seconds", &Recipe::checkpoint_seconds, "seconds from one checkpoint to the next at most; 0: any",
       kSameWeights, 0, kMany},
  };
  return fields;
}

}  // namespace samplenorm::train
