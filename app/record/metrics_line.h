#pragma once

// A line of metrics.jsonl: {"kind":"step",...} or {"kind":"epoch",...} with the fields of StepRecord or EpochRecord
// under their own names. JSON has no NaN and no infinity: they are written as null, which is read as NaN. An optional
// field that has no value is left out.

#include <string>
#include <string_view>
#include <variant>

#include "record/run_folder.h"

namespace samplenorm::record {

using Record = std::variant<StepRecord, EpochRecord>;

/// Without the line's end.
std::string to_line(const Record& record);
/// Throws Error for what is not such a line: every field must be there, and nothing else.
Record parse_line(std::string_view line);

}  // namespace samplenorm::record
