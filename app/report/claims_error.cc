// Figs. 6 and 7: errors of estimated statistics, and how layers' errors correlate.

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

// Errors are similar within a factor of 2; layers have negative correlations if at least 1 % of their pairs do.
constexpr double kSimilar = 2, kSomePairs = 0.01;

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
  if (fs == nullptr || vdn == nullptr || std::isnan(fs->negative + vdn->negative)) return std::nullopt;
  std::string others;
  for (const auto* method : {"NS", "BS"})
    if (const auto* norm = find(errors, method))
      others += fmt::format(" {}: {}.", norm->norm.text, percent(norm->negative));
  return Finding{
      fs->negative >= kSomePairs && vdn->negative >= kSomePairs,
      fmt::format("{} {}, {} {}", fs->norm.text, percent(fs->negative), vdn->norm.text, percent(vdn->negative)), "",
      fmt::format("Pairs of layers whose errors of means correlate below {:.2g}, which is not chance; needed: 1 %.{}",
                  -kNotChance / std::sqrt(fs->steps), others)};
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
  judge.add("ours", "LS has smaller errors than FS at the same ratio.", "", smaller(errors, "LS", {"FS"}, kError));
}

}  // namespace samplenorm::report
