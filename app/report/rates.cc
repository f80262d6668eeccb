#include "report/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "record/own_rate.h"
#include "report/figures.h"
#include "report/markdown.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;
using record::StudyRecords;

/// What runs have in common that differ in rate and seed alone, and the seed.
std::string subject(const json& run) {
  return fmt::format("{} {} {} {} {}", text_in(run, "model"), text_in(run, "data"), text_in(run, "norm"),
                     number_in(run, "gradient_batch"), number_in(run, "statistic_batch"));
}

bool has_rate(const json& run) { return run.contains("rate") && run["rate"].is_number() && run.contains("seed"); }

/// For each subject the runs of the first seed that has several.
std::map<std::string, std::vector<json>> rated_runs(const StudyRecords& study) {
  std::map<std::pair<std::string, std::string>, std::vector<json>> by_seed;
  for (const auto& result : study.results)
    if (has_rate(result.fields) && !result.fields.contains("alpha"))
      by_seed[{subject(result.fields), result.fields["seed"].dump()}].push_back(result.fields);
  std::map<std::string, std::vector<json>> rated;
  for (const auto& [key, runs] : by_seed)
    if (runs.size() > 1) rated.emplace(key.first, runs);
  return rated;
}

std::string accuracy_text(const json& run) {
  const double top1 = number_in(run, "top1");
  return run.contains("failed") || std::isnan(top1) ? "broke off" : fmt::format("{:.2f} %", 100 * top1);
}

}  // namespace

std::vector<StudyRecords> at_own_rates(std::vector<StudyRecords> studies) {
  for (auto& study : studies)
    for (const auto& [name, runs] : rated_runs(study)) {
      const double own = record::own_rate(runs);
      std::erase_if(study.results, [&](const auto& result) {
        const json& run = result.fields;
        return has_rate(run) && subject(run) == name && run["rate"].get<double>() != own;
      });
    }
  return studies;
}

std::string rates_table(const std::vector<StudyRecords>& studies) {
  std::set<double, std::greater<>> rates;
  std::vector<std::vector<json>> rows;
  for (const auto& study : studies)
    for (const auto& [name, runs] : rated_runs(study)) {
      if (study.study != "accuracy") continue;
      rows.push_back(runs);
      for (const auto& run : runs) rates.insert(run["rate"].get<double>());
    }
  if (rows.empty()) return "";
  std::vector<std::vector<std::string>> table{{"norm"}};
  for (const double rate : rates) table.front().push_back(fmt::format("rate {:g}", rate));
  for (const auto& runs : rows) {
    table.push_back({code(text_in(runs.front(), "norm"))});
    for (const double rate : rates) {
      const auto run = std::ranges::find_if(runs, [&](const json& each) { return each["rate"] == rate; });
      table.back().push_back(run == runs.end() ? "" : accuracy_text(*run));
    }
  }
  return markdown_table(table);
}

}  // namespace samplenorm::report
