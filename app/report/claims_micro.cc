// Fig. 9: statistics of 4 rows each, (256, 4).

#include <fmt/format.h>

#include "report/claims_by_study.h"
#include "report/comparisons.h"

namespace samplenorm::report {
namespace {

using Rule = std::optional<Finding>;

/// The method's runs with the smallest, or the largest, statistic batch.
const NormRuns* with_batch(const TrainingRuns* runs, const char* method, bool smallest) {
  const NormRuns* found = nullptr;
  if (runs != nullptr)
    for (const auto* norm : all_of(*runs, method))
      if (found == nullptr ||
          (smallest ? norm->statistic_batch < found->statistic_batch : norm->statistic_batch > found->statistic_batch))
        found = norm;
  return found;
}

std::string named(const NormRuns& norm) {
  return fmt::format("{} ({:g}, {:g}) {}", norm.norm.text, norm.gradient_batch, norm.statistic_batch, accuracy(norm));
}

/// Holds if mean(a) >= mean(b).
Rule at_least(const NormRuns* a, const NormRuns* b) {
  if (a == nullptr || b == nullptr) return std::nullopt;
  return Finding{a->top1.mean >= b->top1.mean, fmt::format("{}, {}", named(*a), named(*b)), "",
                 overlap(a->top1, b->top1) ? "The intervals overlap." : ""};
}

/// Holds if mean(a) < mean(b), where b's statistics are of more rows.
Rule below(const NormRuns* a, const NormRuns* b) {
  if (a == nullptr || b == nullptr || !(a->statistic_batch < b->statistic_batch)) return std::nullopt;
  auto finding = at_least(a, b);
  finding->holds = a->top1.mean < b->top1.mean;
  return finding;
}

}  // namespace

void judge_micro(const Studies& studies, std::vector<Claim>& claims) {
  const auto all = training_runs(studies, "micro");
  const auto* imagenet = find(all, DataSet::kImageNet);
  const auto* runs = imagenet != nullptr ? imagenet : find(all, DataSet::kCifar10);
  constexpr const char* kPaper = "The paper: ResNet-18 on ImageNet, 100 epochs.";
  Judge judge(claims, "micro", runs == nullptr ? nullptr : runs->source,
              runs == nullptr ? kPaper : fmt::format("Here: {}. {}", set_up(*runs), kPaper));
  judge.add("Fig. 9", "With statistics of 4 rows each, (256, 4), VDN is at least as accurate as GN.",
            "30.88 % against 30.96 % error (ImageNet)",
            at_least(with_batch(runs, "VDN", true), with_batch(runs, "GN", true)));
  judge.add("Fig. 9", "VDN with statistics of 4 rows, (256, 4), is less accurate than BN with 32, (256, 32).", "lower",
            below(with_batch(runs, "VDN", true), with_batch(runs, "BN", false)));
}

}  // namespace samplenorm::report
