#pragma once

#include <string>
#include <vector>

#include "record/study_file.h"

namespace samplenorm::report {

/// The figures of a study as Markdown tables, each with a line above that says of what; empty where there are none.
std::string figures_of(const std::vector<record::StudyRecords>& studies, const std::string& study);

}  // namespace samplenorm::report
