#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "report/report.h"

namespace samplenorm::cli {
namespace {

struct ReportOptions {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path file = "report.html";
};

}  // namespace

void add_report(CLI::App& program) {
  CLI::App* report = program.add_subcommand("report", "One HTML file that shows the results of studies");
  auto options = std::make_shared<ReportOptions>();
  report->add_option("DIR", options->folders, "Folders that samplenorm study has written")->required();
  report->add_option("-o,--output", options->file, "The file to write")->capture_default_str();
  report->footer("Example:\n  samplenorm report results/studies -o report.html");
  report->callback([options] {
    report::write_report(options->folders, options->file);
    fmt::print("{}\n", options->file.string());
  });
}

}  // namespace samplenorm::cli
