#include "samplenorm/virtual_batch.h"

#include <torch/torch.h>

#include "nn/virtual_rows.h"

namespace samplenorm {
namespace {

torch::Tensor double_buffer(const torch::Tensor& values) {
  return values.detach().to(torch::kCPU, torch::kDouble).clone();
}

}  // namespace

VirtualBatchImpl::VirtualBatchImpl(const VirtualBatchOptions& options)
    : rows_(options.rows()), stat_batch_(options.stat_batch()), nodes_(options.nodes()) {
  TORCH_CHECK(options.mean().dim() == 1 && options.mean().sizes() == options.std().sizes(),
              "VirtualBatch: expected a mean and a std of size [channels], got ", options.mean().sizes(), " and ",
              options.std().sizes());
  TORCH_CHECK(rows_ >= 1, "VirtualBatch: expected at least 1 row, got ", rows_);
  mean_ = double_buffer(options.mean());
  std_ = double_buffer(options.std());
  if (options.spectrum().defined()) {
    const int64_t channels = mean_.size(0);
    const torch::Tensor& spectrum = options.spectrum();
    TORCH_CHECK(spectrum.dim() == 4 && spectrum.size(2) == channels && spectrum.size(3) == channels,
                "VirtualBatch: expected a spectrum of size [H, W, ", channels, ", ", channels, "], got ",
                spectrum.sizes());
    root_ = root_of_spectrum(spectrum);
  }
}

VirtualBatchImpl::VirtualBatchImpl(torch::Tensor reference_rows, int64_t stat_batch)
    : rows_(reference_rows.size(0)),
      stat_batch_(stat_batch),
      reference_(register_buffer("rows", std::move(reference_rows))) {}

torch::Tensor VirtualBatchImpl::virtual_rows(const torch::Tensor& batch, uint64_t chunk) const {
  if (reference_.defined()) return reference_.to(batch.options());
  std::vector<int64_t> sizes = batch.sizes().vec();
  sizes[0] = rows_;
  return samplenorm::virtual_rows(sizes, {mean_, std_, root_}, key.seed, key.step, chunk).to(batch.options());
}

bool VirtualBatchImpl::carries_rows() const {
  if (place.group.empty()) return true;
  return carries_virtual_rows(nodes_, {.seed = key.seed,
                                       .epoch = key.epoch,
                                       .rank = static_cast<uint64_t>(place.rank),
                                       .ranks = static_cast<uint64_t>(place.ranks)});
}

torch::Tensor VirtualBatchImpl::put_before(const torch::Tensor& batch) {
  if (!is_training()) return batch;
  const int64_t rows = batch.size(0);
  const bool sync = !place.group.empty();
  const int64_t chunk_rows = stat_batch_ == 0 ? std::max<int64_t>(rows, 1) : stat_batch_;
  // Chunks are counted through all processes; with Sync each of them is one, without rows too.
  const int64_t chunks = sync ? 1 : (rows + chunk_rows - 1) / chunk_rows;
  const int64_t first_chunk = place.rank * chunks;
  std::vector<torch::Tensor> parts;
  for (int64_t k = 0; k < chunks && carries_rows(); ++k) {
    const int64_t first = k * chunk_rows;
    parts.push_back(virtual_rows(batch, static_cast<uint64_t>(first_chunk + k)));
    parts.push_back(batch.narrow(0, first, std::min(chunk_rows, rows - first)));
  }
  ++key.step;
  return parts.empty() ? batch : torch::cat(parts).contiguous(batch.suggest_memory_format());
}

torch::Tensor VirtualBatchImpl::take_off(const torch::Tensor& output) const {
  if (!is_training() || !carries_rows()) return output;
  const int64_t rows = output.size(0);
  const int64_t chunk_rows = stat_batch_ == 0 ? rows : rows_ + stat_batch_;
  const int64_t least = place.group.empty() ? 1 : 0;
  std::vector<torch::Tensor> parts;
  for (int64_t first = 0; first < rows; first += chunk_rows) {
    const int64_t last = std::min(first + chunk_rows, rows);
    TORCH_CHECK(last - first >= rows_ + least, "VirtualBatch: expected real rows behind the ", rows_,
                " virtual ones, got an output of size ", output.sizes());
    parts.push_back(output.narrow(0, first + rows_, last - first - rows_));
  }
  if (parts.empty()) return output;
  return parts.size() == 1 ? parts[0] : torch::cat(parts);
}

}  // namespace samplenorm
