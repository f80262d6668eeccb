#pragma once

// Runs of a norm with one seed at several learning rates: the better one is the norm's own.

#include <string>
#include <vector>

#include "record/study_file.h"

namespace samplenorm::report {

/// The records without the runs at a rate that is not their norm's own.
std::vector<record::StudyRecords> at_own_rates(std::vector<record::StudyRecords> studies);

/// A table in Markdown of how accurate each norm is at each rate; empty where no norm was run at several.
std::string rates_table(const std::vector<record::StudyRecords>& studies);

}  // namespace samplenorm::report
