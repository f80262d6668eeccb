#pragma once

// What a run needs to go on as if it had not stopped, in one safetensors file.

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace samplenorm::train {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

struct Checkpoint {
  NamedTensors tensors;  ///< the model's state under its own names; "optimizer.<name>.momentum_buffer" and the like
  std::string model;     ///< name of the network
  std::string recipe;    ///< JSON: the resolved recipe
  int64_t epoch = 0;     ///< epochs that are finished
  int64_t step = 0;      ///< steps of the epoch at hand that are finished
};

/// Written beside its place and renamed, with a checksum of its content in its metadata. Throws Error.
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);
/// Throws Error for a file that is damaged, cut off or not a checkpoint.
Checkpoint read_checkpoint(const std::filesystem::path& file);

/// The checkpoints of a run: the last two are kept.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder);

  /// Returns the file's path. Throws Error (a full disk leaves the earlier ones as they were).
  std::filesystem::path save(const Checkpoint& checkpoint);
  /// The newest that is whole. For each damaged one before it warn(sentence that names it) is called.
  std::optional<Checkpoint> newest(const std::function<void(const std::string&)>& warn) const;
  /// Files, oldest first.
  std::vector<std::filesystem::path> files() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace samplenorm::train
