#pragma once

// docs/paper.md, "The paper, reproduced", and the table of README.md: Markdown from records.

#include <string>
#include <vector>

#include "record/study_file.h"

namespace samplenorm::report {

/// What was run, and for each study its claims with their verdicts, notes on them, and its figures.
std::string paper_page(const std::vector<record::StudyRecords>& studies);

/// A row for each norm: accuracy of the study `accuracy`, and speeds against PyTorch's BatchNorm; only columns that
/// there are figures for. A sentence where there are none.
std::string readme_table(const std::vector<record::StudyRecords>& studies);

}  // namespace samplenorm::report
