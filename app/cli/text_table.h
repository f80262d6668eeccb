#pragma once

#include <string>
#include <vector>

namespace samplenorm::cli {

/// Rows of cells as lines of text, the first row above a rule; the first column to the left, numbers to the right.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace samplenorm::cli
