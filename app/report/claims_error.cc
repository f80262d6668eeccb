// Figs. 6 and 7, appendices C.2 and D: errors of estimated statistics, how layers' errors correlate, and two formulas.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/claims_by_study.h"
#include "report/comparisons.h"
#include "report/error_records.h"

namespace samplenorm::report {
namespace {

using Rule = std::optional<Finding>;
using Errors = std::vector<NormErrors>;
using nlohmann::json;

// Errors are similar within a factor of 2; a formula is right if all it predicts is within a quarter of what is
// measured; layers have negative correlations if at least 1 % of their pairs are below kNegative.
constexpr double kSimilar = 2, kRight = 0.25, kSomePairs = 0.01;

std::string two(const double values[2]) { return fmt::format("{} and {}", plain(values[0]), plain(values[1])); }

bool known(const NormErrors* norm) {
  if (norm == nullptr) return false;
  return !std::isnan(norm->median_error[0] + norm->median_error[1]);
}

/// `field`: two numbers of a norm, for means and for deviations. Holds if both are smaller for a than for each of b.
Rule smaller(const Errors& errors, const char* a, const std::vector<const char*>& b,
             const double (NormErrors::*field)[2]) {
  const auto* small = find(errors, a);
  if (!known(small)) return std::nullopt;
  bool holds = true;
  std::string here = fmt::format("{} {}", small->norm.text, two(small->*field));
  for (const auto* method : b) {
    const auto* large = find(errors, method);
    if (!known(large)) return std::nullopt;
    for (const int of : {0, 1}) holds = holds && (small->*field)[of] < (large->*field)[of];
    here += fmt::format("; {} {}", large->norm.text, two(large->*field));
  }
  return Finding{holds, here};
}

Rule similar_errors(const Errors& errors, const char* a, const std::vector<const char*>& b) {
  auto finding = smaller(errors, a, b, &NormErrors::median_error);
  if (!finding) return finding;
  finding->holds = true;
  finding->note = "Allowed: a factor of 2.";
  for (const auto* method : b)
    for (const int of : {0, 1}) {
      const double ratio = find(errors, a)->median_error[of] / find(errors, method)->median_error[of];
      finding->holds = finding->holds && ratio <= kSimilar && ratio >= 1 / kSimilar;
    }
  return finding;
}

Rule negative_correlations(const Errors& errors) {
  const auto *fs = find(errors, "FS"), *vdn = find(errors, "VDN");
  if (fs == nullptr || vdn == nullptr || std::isnan(fs->negative[0] + vdn->negative[0])) return std::nullopt;
  const auto *ns = find(errors, "NS"), *bs = find(errors, "BS");
  std::string others;
  for (const auto* norm : {ns, bs})
    if (norm != nullptr) others += fmt::format(" {}: {}.", norm->norm.text, percent(norm->negative[0]));
  return Finding{
      fs->negative[0] >= kSomePairs && vdn->negative[0] >= kSomePairs,
      fmt::format("{} {}, {} {}", fs->norm.text, percent(fs->negative[0]), vdn->norm.text, percent(vdn->negative[0])),
      "", fmt::format("Pairs of layers whose errors of means correlate below {}; needed: 1 %.{}", kNegative, others)};
}

/// Holds if `predicted` is right at every point; in the note, how far `other` (if any) is off.
Rule formula_is_right(const std::vector<json>& points, const char* other, const char* remark) {
  const auto furthest = [&](const char* key) {
    double off = 0;
    for (const auto& point : points) {
      const double relative = number_in(point, key) / number_in(point, "measured") - 1;
      if (!(std::abs(relative) <= std::abs(off))) off = relative;
    }
    return off;
  };
  if (points.empty()) return std::nullopt;
  const double off = furthest("predicted");
  return Finding{
      std::abs(off) <= kRight, fmt::format("at most {} off", signed_percent(off)), "",
      sentences({"Allowed: 25 %.",
                 other == nullptr ? "" : fmt::format("Without covariances: {} off.", signed_percent(furthest(other))),
                 remark})};
}

/// Measured variances of two patterns at the same number of points. Holds if a's is smaller at each.
Rule less_variance(const std::vector<json>& points, const char* a, const char* b) {
  size_t pairs = 0, smaller_ones = 0;
  std::vector<double> ratios;
  for (const auto& point : points)
    for (const auto& other : points) {
      if (text_in(point, "pattern") != a || text_in(other, "pattern") != b) continue;
      if (number_in(point, "s") != number_in(other, "s")) continue;
      ++pairs;
      smaller_ones += number_in(point, "measured") < number_in(other, "measured");
      ratios.push_back(number_in(point, "measured") / number_in(other, "measured"));
    }
  if (pairs == 0) return std::nullopt;
  return Finding{smaller_ones == pairs, fmt::format("{} of the variance, smaller in {} of {} sizes",
                                                    times(geometric_mean(ratios)), smaller_ones, pairs)};
}

std::string set_up_of(const Errors& errors) {
  constexpr const char* kPaper = "The paper: ResNet-56 on CIFAR-10, the first epoch.";
  if (errors.empty()) return kPaper;
  const auto& first = errors.front();
  return fmt::format("Here: {} on {}, {:g} steps ({} form); of each norm first means, then deviations. {}",
                     model_name(first.model), first.data, first.steps, first.source->scale, kPaper);
}

}  // namespace

void judge_error(const Studies& studies, std::vector<Claim>& claims) {
  const auto errors = norm_errors(studies);
  const auto variances = error_points(studies, "variance");
  const auto sources = records_of(studies, "error");
  constexpr auto kError = &NormErrors::median_error;
  constexpr auto kCorrelation = &NormErrors::average_correlation;
  Judge judge(claims, "error", sources.empty() ? nullptr : sources.front(), set_up_of(errors));
  judge.add("Fig. 6", "The errors of different layers correlate less with BS than with NS.", "obviously less",
            smaller(errors, "BS", {"NS"}, kCorrelation));
  auto more_than_bs = smaller(errors, "BS", {"FS", "VDN"}, kCorrelation);
  judge.add("Fig. 6", "On average they correlate more with FS and VDN than with BS.", "higher", more_than_bs);
  judge.add("Fig. 6", "With FS and VDN some layers' errors correlate negatively.", "some",
            negative_correlations(errors));
  judge.add("Fig. 7", "FS has the smallest errors of the paper's methods.", "least",
            smaller(errors, "FS", {"NS", "BS", "VDN"}, kError));
  judge.add("Fig. 7", "VDN's errors are similar to those of BS and NS, though it has a quarter of their data.",
            "similar", similar_errors(errors, "VDN", {"BS", "NS"}));
  judge.add("Fig. 7", "BS and NS have similar errors.", "similar", similar_errors(errors, "BS", {"NS"}));
  judge.add(
      "Appendix C.2", "The variance of an estimated mean is the sum of variances and covariances of its points.",
      "formula",
      formula_is_right(variances, "independent",
                       "Each pair of points counts twice, once in each order: the factor 2 before a sum over all i "
                       "unlike j would count it four times."));
  judge.add("Appendix C.2",
            "Points from all rows (a patch, FS) estimate a mean better than as many from few rows (BS).", "better",
            less_variance(variances, "patch", "rows"));
  judge.add("Appendix D", "A moving average has alpha/(2-alpha) of the variance of one estimate.", "formula",
            formula_is_right(error_points(studies, "moving_average"), nullptr, ""));
  judge.add("ours", "LS has smaller errors than FS at the same ratio.", "", smaller(errors, "LS", {"FS"}, kError));
  judge.add("ours", "Points of a lattice estimate a mean better than as many of a patch.", "",
            less_variance(variances, "lattice", "patch"));
}

}  // namespace samplenorm::report
