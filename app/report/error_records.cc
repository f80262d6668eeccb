#include "report/error_records.h"

#include <cmath>

#include "report/figures.h"
#include "report/training_runs.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;

constexpr const char* kErrors[] = {"mean_errors", "deviation_errors"};
constexpr const char* kAverages[] = {"mean_correlation_average", "deviation_correlation_average"};

double median_of_layers(const json& result, const char* key) {
  std::vector<double> medians;
  if (result.contains(key))
    for (const auto& box : result[key]) medians.push_back(number_in(box, "median"));
  return median(medians);
}

double negative_part(const json& result) {
  const double limit = -kNotChance / std::sqrt(number_in(result, "steps"));
  if (!result.contains("mean_correlation") || std::isnan(limit)) return std::nan("");
  const json& matrix = result["mean_correlation"];
  double pairs = 0, negative = 0;
  for (size_t i = 0; i < matrix.size(); ++i)
    for (size_t j = 0; j < i && j < matrix[i].size(); ++j) {
      if (!matrix[i][j].is_number()) continue;
      ++pairs;
      negative += matrix[i][j].get<double>() < limit;
    }
  return negative / pairs;
}

}  // namespace

std::vector<NormErrors> norm_errors(const std::vector<record::StudyRecords>& studies) {
  std::vector<NormErrors> all;
  for (const auto* source : records_of(studies, "error"))
    for (const auto& [fields, begin] : source->results) {
      if (text_in(fields, "part") != "layers") continue;
      NormErrors errors{source,
                        text_in(fields, "model"),
                        text_in(fields, "data"),
                        norm_name(text_in(fields, "norm")),
                        number_in(fields, "steps"),
                        {},
                        {},
                        negative_part(fields)};
      for (const int of : {0, 1}) {
        errors.median_error[of] = median_of_layers(fields, kErrors[of]);
        errors.average_correlation[of] = number_in(fields, kAverages[of]);
      }
      all.push_back(std::move(errors));
    }
  return all;
}

const NormErrors* find(const std::vector<NormErrors>& errors, const std::string& method) {
  for (const auto& norm : errors)
    if (norm.norm.method == method) return &norm;
  return nullptr;
}

std::vector<json> error_points(const std::vector<record::StudyRecords>& studies, const std::string& part) {
  for (const auto* source : records_of(studies, "error")) {
    std::vector<json> points;
    for (const auto& result : source->results)
      if (text_in(result.fields, "part") == part && result.fields.contains("points"))
        for (const auto& point : result.fields["points"]) points.push_back(point);
    if (!points.empty()) return points;
  }
  return {};
}

}  // namespace samplenorm::report
