#include "report/markdown.h"

#include <cstring>
#include <sstream>

namespace samplenorm::report {
namespace {

constexpr size_t kWidth = 130;

/// Of UTF-8: bytes that continue a character take no room.
size_t characters_in(const std::string& text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      safe += ' ';
      continue;
    }
    if (std::strchr("\\|<>*_`[]#", c) != nullptr) safe += '\\';
    safe += c;
  }
  return safe;
}

std::string code(const std::string& text) {
  // In code a backslash is no escape, but before the bar of a table; and nothing can stand for a backtick.
  std::string safe = "`";
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c == '`' ? '\'' : c;
  }
  return safe + "`";
}

std::string markdown_table(const std::vector<std::vector<std::string>>& rows) {
  std::string table;
  const auto add = [&](const std::vector<std::string>& cells) {
    for (const auto& cell : cells) table += cell.empty() ? "| " : "| " + cell + " ";
    table += "|\n";
  };
  add(rows.front());
  add(std::vector<std::string>(rows.front().size(), "---"));
  for (size_t i = 1; i < rows.size(); ++i) add(rows[i]);
  return table;
}

std::string wrapped(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string lines, line, word;
  while (words >> word) {
    if (!line.empty() && characters_in(line) + 1 + characters_in(word) > kWidth) {
      lines += line + "\n";
      line = indent + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines + line + "\n";
}

}  // namespace samplenorm::report
