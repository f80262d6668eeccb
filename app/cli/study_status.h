#pragma once

#include <string>
#include <vector>

#include "study/study.h"

namespace samplenorm::cli {

/// Prints a line for each task: done with its outcome, running or waiting; and how long the rest will take with so many
/// jobs at once. Writes it to a file of JSON too, unless its name is empty.
void print_status(const std::vector<study::PlannedStudy>& studies, int64_t jobs, const std::string& json_file);

}  // namespace samplenorm::cli
