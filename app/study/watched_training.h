#pragma once

// Training with norms that are watched.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "study/study.h"
#include "study/training_runs.h"
#include "study/watched_norm.h"

namespace samplenorm::study {

class WatchedTraining {
 public:
  /// Trains in the folder, or goes on with what is there. `watched`: another sample than the recipe's norm to be
  /// watched, or empty. Throws StopAsked, and Diverged.
  WatchedTraining(Study& study, const train::Recipe& recipe, const std::filesystem::path& folder,
                  const std::string& watched = "");

  /// Forward passes over so many batches of an epoch in training mode: the weights stay. Throws StopAsked.
  void pass(int64_t epoch, int64_t batches);

  using Layers = std::vector<std::pair<std::string, std::shared_ptr<WatchedNorm>>>;
  const Layers& layers() const { return layers_; }
  int64_t steps_per_epoch() const { return batches_->steps(); }
  double seconds() const { return run_.seconds(); }

 private:
  Study& study_;
  data::DataSet set_;
  std::unique_ptr<data::Loader> batches_;
  TrainedRun run_;
  Layers layers_;
};

}  // namespace samplenorm::study
