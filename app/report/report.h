#pragma once

// One HTML file that shows the records of studies: it works offline and holds all it needs.

#include <filesystem>
#include <vector>

namespace samplenorm::report {

/// Reads every study in `folders` and writes the page that shows them; `file` is there whole or not at all. A study
/// that is in two folders is shown twice. Throws Error for a folder without studies and for what record::read_studies
/// refuses.
void write_report(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& file);

}  // namespace samplenorm::report
