#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/metrics_line.h"

namespace samplenorm::record {

/// The whole lines of a metrics.jsonl. A last line without an end is what a killed run was about to write, and is left
/// out. Throws Error with file and number of a line that is wrong.
std::vector<Record> read_metrics_file(const std::filesystem::path& file);

/// Whether a record is of the first `steps_done` steps of its run.
bool is_within(const Record& record, int64_t steps_done);

}  // namespace samplenorm::record
