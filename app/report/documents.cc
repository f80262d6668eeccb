#include "report/documents.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "record/output_file.h"
#include "report/paper_page.h"
#include "report/rates.h"
#include "samplenorm/error.h"

namespace samplenorm::report {
namespace {

void replace(const std::filesystem::path& file, const std::string& content) {
  record::AtomicFile out(file);
  out.write(content);
  out.commit();
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  if (!stream || !(content << stream.rdbuf()))
    throw Error(fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
  return content.str();
}

std::string first_line(const char* text) { return std::string(text, std::strcspn(text, "\n")); }

}  // namespace

void write_paper_page(const std::vector<record::StudyRecords>& studies, const std::filesystem::path& file) {
  replace(file, paper_page(studies));
}

void update_readme(const std::vector<record::StudyRecords>& studies, const std::filesystem::path& file) {
  std::string text = content_of(file);
  const size_t begin = text.find(kTableBegin), end = text.find(kTableEnd, begin);
  if (begin == text.npos || end == text.npos)
    throw Error(fmt::format("{}: expected a line '{}' and, below it, a line '{}' for the table to stand between",
                            file.string(), first_line(kTableBegin), first_line(kTableEnd)));
  const size_t inside = begin + std::strlen(kTableBegin);
  // Markdown sees a table only after an empty line, and the comment is no paragraph only before one.
  replace(file, text.replace(inside, end - inside, "\n" + readme_table(at_own_rates(studies)) + "\n"));
}

}  // namespace samplenorm::report
