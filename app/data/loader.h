#pragma once

// Batches, decoded and augmented by worker threads ahead of the training step. Every draw (the order of an epoch, a
// crop, a flip) is keyed by (seed, epoch, index), so neither the number of workers nor resuming changes a run.

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "data/data_set.h"

namespace samplenorm::data {

struct Batch {
  torch::Tensor images;  ///< float32, channels_last, normalized with the set's mean and deviation
  torch::Tensor labels;  ///< int64
};

struct LoaderOptions {
  int64_t batch = 128;
  int workers = 1;
  int64_t ahead = 4;  ///< batches that are made before they are asked for
  uint64_t seed = 0;
  bool training = true;  ///< shuffle, augment and leave out the last, smaller batch
  /// Of each batch of B rows rank r of k gets the rows from B*r/k to B*(r+1)/k: all ranks together see what one process
  /// sees. Of a last, smaller batch a share may be empty.
  int rank = 0;
  int ranks = 1;
};

class Loader {
 public:
  /// The training or the test half of `set`, as the options say.
  Loader(const DataSet& set, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Batches in an epoch.
  int64_t steps() const;
  /// Begins an epoch, from step `first_step` of it on.
  void begin(int64_t epoch, int64_t first_step = 0);
  /// Nothing when the epoch is over. Throws what a worker threw.
  std::optional<Batch> next();

  /// Seconds that next() has waited since begin().
  double waited_seconds() const;
  /// Images that could not be decoded since begin(); another image of the set stands in for each.
  int64_t skipped() const;

 private:
  class Workers;
  std::unique_ptr<Workers> workers_;
};

}  // namespace samplenorm::data
