#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "record/metrics_line.h"

namespace samplenorm::record {

/// Throws Error(problem).
[[noreturn]] void throw_error(const std::string& problem);

/// The whole lines of a metrics.jsonl. A last line without an end is what a killed run was about to write, and is left
/// out. A line that is wrong is left out too, after on_damage(problem with its file and number), which throws
/// Error(problem) by default.
std::vector<Record> read_metrics_file(const std::filesystem::path& file,
                                      const std::function<void(const std::string&)>& on_damage = throw_error);

/// Whether a record is of the first `steps_done` steps of its run.
bool is_within(const Record& record, int64_t steps_done);

}  // namespace samplenorm::record
