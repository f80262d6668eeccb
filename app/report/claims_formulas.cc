// Appendices C.2 and D: the variance of an estimated mean, and of a moving average.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/claims_by_study.h"
#include "report/error_records.h"
#include "report/figures.h"
#include "report/training_runs.h"
#include "report/verdict.h"

namespace samplenorm::report {
namespace {

using Rule = std::optional<Finding>;
using Points = std::vector<nlohmann::json>;

// A formula is right if at least half of what it predicts is within a quarter of what is measured: single measured
// variances are of few groups, and known no better than that.
constexpr double kRight = 0.25;
// The batch in which FS and BS are compared, the paper's.
constexpr double kBatch = 128;

/// How far `key` is from what was measured, in parts of that, at each point.
std::vector<double> distances(const Points& points, const char* key) {
  std::vector<double> all;
  for (const auto& point : points) all.push_back(std::abs(number_in(point, key) / number_in(point, "measured") - 1));
  return all;
}

/// Holds if the formula is right and no further off than `other`, where there is another one.
Rule formula_is_right(const Points& points, const char* other, const char* remark) {
  const auto off = distances(points, "predicted");
  const double half = median(off);
  if (std::isnan(half)) return std::nullopt;
  Finding finding{half <= kRight,
                  fmt::format("half of it within {}, all within {}", percent(half),
                              percent(*std::max_element(off.begin(), off.end()))),
                  "", "Allowed: 25 % for half of the predictions."};
  if (other != nullptr) {
    const double half_of_other = median(distances(points, other));
    finding.holds = finding.holds && half <= half_of_other;
    finding.note += fmt::format(" Without covariances: {}.", percent(half_of_other));
  }
  finding.note = sentences({finding.note, remark});
  return finding;
}

double measured(const Points& points, const char* pattern, double s) {
  for (const auto& point : points)
    if (text_in(point, "pattern") == pattern && number_in(point, "s") == s) return number_in(point, "measured");
  return std::nan("");
}

/// Ratios of variances, of which all must be below 1.
Rule all_smaller(const std::vector<double>& ratios) {
  if (ratios.empty()) return std::nullopt;
  const auto below = std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 1; });
  return Finding{below == std::ssize(ratios), fmt::format("{} of the variance; smaller at {} of {} sizes",
                                                          times(geometric_mean(ratios)), below, ratios.size())};
}

/// In one row, a lattice against a patch of as many points; one point and the whole map are the same in both.
Rule lattice_against_patch(const Points& points) {
  double most = 0;
  for (const auto& point : points)
    if (text_in(point, "pattern") == "patch") most = std::max(most, number_in(point, "s"));
  std::vector<double> ratios;
  for (const auto& point : points) {
    const double s = number_in(point, "s"), ratio = measured(points, "lattice", s) / measured(points, "patch", s);
    if (text_in(point, "pattern") == "patch" && s > 1 && s < most && !std::isnan(ratio)) ratios.push_back(ratio);
  }
  return all_smaller(ratios);
}

/// A patch of every row of a batch (FS), whose variance is that of one row's patch by the number of rows, against as
/// many points in whole rows (BS).
Rule patches_against_rows(const Points& points) {
  std::vector<double> ratios;
  for (const auto& point : points) {
    const double ratio =
        measured(points, "patch", number_in(point, "s") / kBatch) / kBatch / number_in(point, "measured");
    if (text_in(point, "pattern") == "rows" && !std::isnan(ratio)) ratios.push_back(ratio);
  }
  return all_smaller(ratios);
}

}  // namespace

void judge_formulas(const Studies& studies, std::vector<Claim>& claims) {
  const auto variances = error_points(studies, "variance");
  const auto sources = records_of(studies, "error");
  Judge judge(claims, "error", sources.empty() ? nullptr : sources.front(),
              "The paper derives it and measures nothing; here: activations of a layer after the first epoch.");
  judge.add(
      "Appendix C.2", "The variance of an estimated mean is the sum of variances and covariances of its points.",
      "formula",
      formula_is_right(variances, "independent",
                       "Each pair of points counts twice, once in each order: the factor 2 before a sum over all i "
                       "unlike j would count it four times."));
  judge.add("Appendix C.2", "Of as many points, those of all rows (FS) estimate a mean better than whole rows (BS).",
            "better", patches_against_rows(variances));
  judge.add("Appendix D", "A moving average has alpha/(2-alpha) of the variance of one estimate.", "formula",
            formula_is_right(error_points(studies, "moving_average"), nullptr, ""));
  judge.add("ours", "Points of a lattice estimate a mean better than as many of a patch.", "",
            lattice_against_patch(variances));
}

}  // namespace samplenorm::report
