#pragma once

// Files in Markdown that are written from records of studies: there whole or not at all, as they were until then.

#include <filesystem>
#include <vector>

#include "record/study_file.h"

namespace samplenorm::report {

/// The lines between which update_readme puts its table.
inline constexpr const char* kTableBegin = "<!-- studies: begin -->\n";
inline constexpr const char* kTableEnd = "<!-- studies: end -->\n";

/// paper_page() as a file.
void write_paper_page(const std::vector<record::StudyRecords>& studies, const std::filesystem::path& file);

/// Replaces what is between the two lines in `file` by readme_table(). Throws Error where they are missing.
void update_readme(const std::vector<record::StudyRecords>& studies, const std::filesystem::path& file);

}  // namespace samplenorm::report
