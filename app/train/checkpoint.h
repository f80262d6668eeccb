#pragma once

// What a run needs to go on as if it had not stopped, in one safetensors file.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/safetensors.h"

namespace samplenorm::train {

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

/// The checkpoints of a run, "checkpoint-<epoch>-<step>.safetensors": the last two are kept.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder);

  /// Makes the folder if needed and returns the file's path. Removes what a killed run was writing, and after success
  /// all but this one and the one before it: older ones, and later ones (damaged, or of a run that was gone back
  /// behind). Throws Error (a full disk leaves the earlier ones as they were).
  std::filesystem::path save(const Checkpoint& checkpoint);
  /// The newest that is whole. For each damaged one before it warn(sentence that names it) is called.
  std::optional<Checkpoint> newest(const std::function<void(const std::string&)>& warn) const;
  /// Files, oldest first.
  std::vector<std::filesystem::path> files() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace samplenorm::train
