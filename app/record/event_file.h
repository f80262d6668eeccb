#pragma once

// The file that `tensorboard --logdir` reads.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "record/event_encoding.h"
#include "record/output_file.h"

namespace samplenorm::record {

/// Event files in a folder, oldest first.
std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder);

class EventFile {
 public:
  /// Begins a new file, which sorts behind those that are there. `restarted_at`: the step at which a resumed run goes
  /// on; what earlier files have from there on is not shown any more. Throws Error, as all of these do.
  EventFile(const std::filesystem::path& folder, std::optional<int64_t> restarted_at);

  void add(int64_t step, const std::vector<Scalar>& scalars);
  void sync() { file_.sync(); }

 private:
  OutputFile file_;
};

}  // namespace samplenorm::record
