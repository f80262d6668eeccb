#include <fmt/format.h>

#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "record/study_file.h"
#include "report/documents.h"
#include "report/report.h"

namespace samplenorm::cli {
namespace {

struct ReportOptions {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path file = "report.html";
  std::filesystem::path page, readme;
};

std::vector<record::StudyRecords> read_folders(const std::vector<std::filesystem::path>& folders) {
  std::vector<record::StudyRecords> all;
  for (const auto& folder : folders) {
    auto studies = record::read_studies(folder);
    all.insert(all.end(), std::make_move_iterator(studies.begin()), std::make_move_iterator(studies.end()));
  }
  return all;
}

void write_documents(const ReportOptions& options) {
  const auto studies = read_folders(options.folders);
  if (!options.page.empty()) {
    report::write_paper_page(studies, options.page);
    fmt::print("{}\n", options.page.string());
  }
  if (!options.readme.empty()) {
    report::update_readme(studies, options.readme);
    fmt::print("{}\n", options.readme.string());
  }
}

}  // namespace

void add_report(CLI::App& program) {
  CLI::App* report = program.add_subcommand("report", "One HTML file that shows the results of studies");
  auto options = std::make_shared<ReportOptions>();
  report->add_option("DIR", options->folders, "Folders that samplenorm study has written")->required();
  const auto* output = report
                           ->add_option("-o,--output", options->file,
                                        "The HTML file to write; none with the next two, unless it is named")
                           ->capture_default_str();
  report->add_option("--page", options->page,
                     "Write a page in Markdown: each claim of the paper beside what was measured");
  report->add_option("--readme", options->readme,
                     "Put a table of figures into this file, between its lines '<!-- studies: begin -->' and "
                     "'<!-- studies: end -->'");
  report->footer(
      "Examples:\n  samplenorm report results/studies -o report.html\n"
      "  samplenorm report results/studies --page docs/paper.md --readme README.md");
  report->callback([options, output] {
    const bool documents = !options->page.empty() || !options->readme.empty();
    if (documents) write_documents(*options);
    if (documents && output->count() == 0) return;
    report::write_report(options->folders, options->file);
    fmt::print("{}\n", options->file.string());
  });
}

}  // namespace samplenorm::cli
