#pragma once

#include <string>
#include <vector>

namespace samplenorm::report {

/// Text from records, in which no character means anything to Markdown.
std::string escaped(const std::string& text);

/// Such text in the type of code.
std::string code(const std::string& text);

/// Rows of cells, the first of them the heading; cells are Markdown.
std::string markdown_table(const std::vector<std::vector<std::string>>& rows);

/// Lines of at most about 130 characters, `indent` before all but the first.
std::string wrapped(const std::string& text, const std::string& indent = "");

}  // namespace samplenorm::report
