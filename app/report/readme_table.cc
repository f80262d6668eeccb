#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/comparisons.h"
#include "report/markdown.h"
#include "report/network_speeds.h"
#include "report/paper_page.h"

namespace samplenorm::report {
namespace {

/// Cells by norm; a norm without one has a dash.
struct Column {
  std::string heading;
  std::vector<std::pair<std::string, std::string>> cells;

  std::string of(const std::string& norm) const {
    for (const auto& [name, cell] : cells)
      if (name == norm) return cell;
    return "–";
  }
};

Column accuracies(const std::vector<record::StudyRecords>& studies) {
  Column column;
  const auto all = training_runs(studies, "accuracy");
  if (const auto* runs = find(all, DataSet::kCifar10)) {
    column.heading = fmt::format("accuracy, {} ({} form)", model_name(runs->model), runs->source->scale);
    for (const auto& norm : runs->norms) column.cells.emplace_back(norm.norm.text, accuracy(norm));
  }
  return column;
}

Column speeds(const std::vector<NetworkSpeeds>& networks, const char* model, const char* what,
              double NormSpeed::*speed) {
  Column column{fmt::format("{}, {}", what, model_name(model)), {}};
  if (const auto* network = find(networks, model); network != nullptr && network->reference == "torch")
    for (const auto& norm : network->norms)
      if (!std::isnan(norm.*speed)) column.cells.emplace_back(norm.norm.text, times(norm.*speed));
  return column;
}

}  // namespace

std::string readme_table(const std::vector<record::StudyRecords>& studies) {
  const auto networks = network_speeds(studies, "speed");
  std::vector<Column> columns{accuracies(studies), speeds(networks, "resnet18", "training step", &NormSpeed::step),
                              speeds(networks, "resnet50", "training step", &NormSpeed::step),
                              speeds(networks, "resnet18", "normalization", &NormSpeed::layers),
                              speeds(networks, "resnet50", "normalization", &NormSpeed::layers)};
  std::erase_if(columns, [](const Column& column) { return column.cells.empty(); });
  if (columns.empty()) return "No study was run yet.\n";

  std::vector<std::vector<std::string>> rows{{"norm"}};
  std::vector<std::string> norms;
  for (const auto& column : columns) {
    rows[0].push_back(column.heading);
    for (const auto& [norm, cell] : column.cells)
      if (std::find(norms.begin(), norms.end(), norm) == norms.end()) norms.push_back(norm);
  }
  for (const auto& norm : norms) {
    rows.push_back({code(norm)});
    for (const auto& column : columns) rows.back().push_back(column.of(norm));
  }
  return markdown_table(rows);
}

}  // namespace samplenorm::report
