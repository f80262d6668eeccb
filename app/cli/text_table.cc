#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace samplenorm::cli {

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  size_t total_width = 0;
  for (const size_t width : widths) total_width += width + 2;

  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{:<{}}", row.front(), widths.front());
    for (size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
    if (&row == &rows.front()) text += std::string(total_width - 2, '-') + '\n';
  }
  return text;
}

}  // namespace samplenorm::cli
