#include "report/page_tables.h"

#include <fmt/format.h>

#include <cmath>

#include "report/comparisons.h"
#include "report/error_records.h"
#include "report/markdown.h"
#include "report/network_speeds.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;
using Studies = std::vector<record::StudyRecords>;

/// `rows`: with their heading; a table without others is left out.
std::string titled(const std::string& title, const Rows& rows) {
  return rows.size() < 2 ? "" : fmt::format("\n{}\n{}", wrapped(title), markdown_table(rows));
}

std::string trained(const Studies& studies, const std::string& study) {
  std::string tables;
  for (const auto& runs : training_runs(studies, study)) {
    Rows rows{{"norm"}};
    if (study == "decay") rows[0].push_back("alpha");
    if (study == "micro") rows[0].push_back("batches");
    for (const auto* heading : {"sampled", "top-1", "recalibrated top-1", "training loss", "runs", "broke off"})
      rows[0].push_back(heading);
    for (const auto& norm : runs.norms) {
      std::vector<std::string> row{code(norm.norm.text)};
      if (study == "decay") row.push_back(plain(norm.alpha));
      if (study == "micro") row.push_back(fmt::format("({:g}, {:g})", norm.gradient_batch, norm.statistic_batch));
      for (const auto& cell : {percent(norm.norm.ratio), percent(norm.top1), percent(norm.recalibrated),
                               plain(norm.loss), fmt::format("{}", norm.top1.count), fmt::format("{}", norm.broke_off)})
        row.push_back(cell);
      rows.push_back(std::move(row));
    }
    tables += titled(escaped(set_up(runs)) + "; means with their 95 % intervals over seeds:", rows);
  }
  return tables;
}

std::string costs(const Studies& studies) {
  std::string tables;
  for (const auto* source : records_of(studies, "cost"))
    for (const auto& [fields, begin] : source->results) {
      Rows rows{{"norm", "steps a second", "speed to none", "cost"}};
      if (fields.contains("norms"))
        for (const auto& norm : fields["norms"])
          rows.push_back({code(text_in(norm, "norm")), plain(number_in(norm, "iterations_per_second")),
                          times(number_in(norm, "speed")), percent(1 - number_in(norm, "speed"))});
      tables += titled(
          fmt::format("{}, batches of {:g} images of {:g} x {:g}:", escaped(model_name(text_in(fields, "model"))),
                      number_in(fields, "batch"), number_in(fields, "side"), number_in(fields, "side")),
          rows);
    }
  return tables;
}

std::string speeds(const Studies& studies, const std::string& study) {
  std::string tables;
  for (const auto& network : network_speeds(studies, study)) {
    Rows rows{{"norm", "normalization", "training step"}};
    for (const auto& norm : network.norms) rows.push_back({code(norm.norm.text), times(norm.layers), times(norm.step)});
    tables += titled(
        fmt::format("{}, batches of {:g} images of {:g} x {:g}, speed to {}:", escaped(model_name(network.model)),
                    network.batch, network.side, network.side, code(network.reference)),
        rows);
  }
  return tables;
}

std::string errors(const Studies& studies) {
  Rows rows{{"norm", "error of means", "error of deviations", "correlation of means' errors", "of deviations'",
             "negative pairs"}};
  const auto norms = norm_errors(studies);
  for (const auto& norm : norms)
    if (norm.source == norms.front().source)  // of one scale
      rows.push_back({code(norm.norm.text), plain(norm.median_error[0]), plain(norm.median_error[1]),
                      plain(norm.average_correlation[0]), plain(norm.average_correlation[1]), percent(norm.negative)});
  Rows variances{{"pattern", "points", "measured", "predicted", "predicted without covariances"}};
  for (const auto& point : error_points(studies, "variance"))
    variances.push_back({escaped(text_in(point, "pattern")), fmt::format("{:g}", number_in(point, "s")),
                         plain(number_in(point, "measured")), plain(number_in(point, "predicted")),
                         plain(number_in(point, "independent"))});
  Rows averages{{"alpha", "measured", "alpha/(2-alpha)"}};
  for (const auto& point : error_points(studies, "moving_average"))
    averages.push_back({fmt::format("{:g}", number_in(point, "alpha")), plain(number_in(point, "measured")),
                        plain(number_in(point, "predicted"))});
  return titled(
             "Errors: the median layer's median over steps. Correlations: of two layers' errors, averaged over all "
             "pairs; negative pairs: those whose errors of means correlate negatively, and not by chance.",
             rows) +
         titled("Variance of an estimated mean, by that of one point:", variances) +
         titled("Variance of a moving average, by that of one estimate:", averages);
}

std::string places(const Studies& studies) {
  std::string tables;
  for (const auto* source : records_of(studies, "regularity"))
    for (const auto& [fields, begin] : source->results) {
      if (!fields.contains("places")) continue;
      Rows rows{{"pattern", "index", "redrawn", "time to the first"}};
      for (const auto& place : fields["places"])
        rows.push_back({escaped(text_in(place, "pattern")), escaped(text_in(place, "index")),
                        escaped(text_in(place, "redrawn")), times(number_in(place, "cost"))});
      tables += titled(fmt::format("Gathering statistics, {}:", escaped(text_in(fields, "format"))), rows);
    }
  return tables;
}

}  // namespace

std::string figures_of(const Studies& studies, const std::string& study) {
  if (study == "cost") return costs(studies);
  if (study == "speed") return speeds(studies, study);
  if (study == "regularity") return places(studies) + speeds(studies, study);
  if (study == "error") return errors(studies);
  return trained(studies, study);
}

}  // namespace samplenorm::report
