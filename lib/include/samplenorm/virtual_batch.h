#pragma once

// Virtual dataset normalization (VDN): a few random inputs that look like the data set go through the network before
// the real ones, and layers take their statistics from them. See DESIGN, section 1.

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "samplenorm/norm.h"

namespace samplenorm {

/// Mean, deviation and power spectrum of a data set per input channel, in one pass and stably. A module, so that
/// torch::save and torch::load keep it.
class DatasetStatisticsImpl : public torch::nn::Cloneable<DatasetStatisticsImpl> {
 public:
  /// Images have `channels` channels; with `spectrum`, all have one size, and the mean power spectrum is collected too.
  explicit DatasetStatisticsImpl(int64_t channels, bool spectrum = false);

  void reset() override;

  /// Takes in a batch (N, C, H, W) of floating-point images.
  void add(const torch::Tensor& images);

  torch::Tensor mean() const;  ///< (C)
  torch::Tensor std() const;   ///< (C), of the population
  /// (H, W, C, C), complex: for each frequency the mean of F F^H over the images less their mean, F being the 2-d
  /// Fourier transform of an image.
  torch::Tensor spectrum() const;

 private:
  int64_t channels_;
  bool with_spectrum_;
  torch::Tensor count_;   // points per channel
  torch::Tensor mean_;    // (C)
  torch::Tensor m2_;      // (C)
  torch::Tensor images_;  // how many
  torch::Tensor power_;   // (H, W, C, C, 2), sum over the images
};
TORCH_MODULE(DatasetStatistics);

struct VirtualBatchOptions {
  VirtualBatchOptions(torch::Tensor mean, torch::Tensor std, int64_t rows)
      : mean_(std::move(mean)), std_(std::move(std)), rows_(rows) {}

  TORCH_ARG(torch::Tensor, mean);  ///< (C), of the network's inputs as they come in
  TORCH_ARG(torch::Tensor, std);   ///< (C)
  /// Virtual rows: 2 for "VDN-2/128".
  TORCH_ARG(int64_t, rows);
  /// DatasetStatistics::spectrum(), for field=spectrum; undefined: white noise.
  TORCH_ARG(torch::Tensor, spectrum);
  /// Real rows normalized together, as in the notation; each such chunk gets virtual rows of its own. 0: the whole
  /// batch.
  TORCH_ARG(int64_t, stat_batch) = 0;
  /// How many of the processes of a Sync carry virtual rows, as in the notation.
  TORCH_ARG(Nodes, nodes);
};

/// Puts virtual rows before the batch at a network's input and takes them off its output. In evaluation it does
/// nothing. The rows are drawn by (seed, step): key.step counts training batches. Of several processes each has rows of
/// its own; with Sync those that `nodes` chooses, also where they have no real rows.
class VirtualBatchImpl : public torch::nn::Module, public Draws {
 public:
  VirtualBatchImpl(torch::Tensor mean, torch::Tensor std, int64_t rows)
      : VirtualBatchImpl(VirtualBatchOptions(std::move(mean), std::move(std), rows)) {}
  explicit VirtualBatchImpl(const VirtualBatchOptions& options);
  /// The same real rows (rows, C, H, W) at every step, for "VBN-rows".
  explicit VirtualBatchImpl(torch::Tensor reference_rows, int64_t stat_batch = 0);

  /// Chunk by chunk, virtual rows before the real ones.
  torch::Tensor put_before(const torch::Tensor& batch);
  /// The real rows of what the network made of put_before()'s result.
  torch::Tensor take_off(const torch::Tensor& output) const;

  /// take_off(network(put_before(batch))).
  template <class Network>
  torch::Tensor forward(const torch::Tensor& batch, Network&& network) {
    return take_off(network(put_before(batch)));
  }

  /// The virtual rows of one chunk at the present key.step, for inputs of the sizes of `batch`.
  torch::Tensor virtual_rows(const torch::Tensor& batch, uint64_t chunk) const;

 private:
  bool carries_rows() const;

  int64_t rows_;
  int64_t stat_batch_;
  Nodes nodes_;
  torch::Tensor mean_;
  torch::Tensor std_;
  torch::Tensor root_;       // of the spectrum, (H, W, C, C)
  torch::Tensor reference_;  // fixed rows
};
TORCH_MODULE(VirtualBatch);

}  // namespace samplenorm
