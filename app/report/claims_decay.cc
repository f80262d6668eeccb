// Fig. 10: accuracy against the decay of the moving averages, BS-1/128.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/claims_by_study.h"
#include "report/comparisons.h"

namespace samplenorm::report {
namespace {

using Rule = std::optional<Finding>;
constexpr double kUsual = 0.9, kBestInThePaper = 0.7;

/// By alpha; needs the usual one and two others to say which is best.
std::vector<const NormRuns*> by_alpha(const TrainingRuns* runs) {
  std::vector<const NormRuns*> norms;
  if (runs != nullptr)
    for (const auto& norm : runs->norms)
      if (!std::isnan(norm.alpha)) norms.push_back(&norm);
  std::sort(norms.begin(), norms.end(), [](const auto* a, const auto* b) { return a->alpha < b->alpha; });
  if (norms.size() < 3 || norms.back()->alpha < kUsual) return {};
  return norms;
}

const NormRuns* best_of(const std::vector<const NormRuns*>& norms) {
  return *std::max_element(norms.begin(), norms.end(),
                           [](const auto* a, const auto* b) { return a->top1.mean < b->top1.mean; });
}

std::string against(const NormRuns& best, const NormRuns& other) {
  return sentences(
      {fmt::format("{} at {:g} against {} at {:g}.", accuracy(best), best.alpha, accuracy(other), other.alpha),
       overlap(best.top1, other.top1) ? "The intervals overlap." : ""});
}

/// Holds if the alpha with the highest mean is below 0.9.
Rule best_is_below_usual(const std::vector<const NormRuns*>& norms) {
  if (norms.empty()) return std::nullopt;
  const auto& best = *best_of(norms);
  // Against the usual one; where that is the best, against the best of the others.
  const auto& other = &best == norms.back() ? *best_of({norms.begin(), norms.end() - 1}) : *norms.back();
  return Finding{best.alpha < kUsual, fmt::format("best at {:g}", best.alpha),
                 fmt::format("{:+.2g}", best.alpha - kBestInThePaper),
                 sentences({against(best, other),
                            "What frameworks call a momentum of 0.9 (PyTorch: 0.1) is an alpha of 0.1 in the paper's "
                            "formula, which weights the new value with alpha."})};
}

/// Holds if some alpha's mean is above that of the smallest one.
Rule too_small_is_worse(const std::vector<const NormRuns*>& norms) {
  if (norms.empty()) return std::nullopt;
  const auto &best = *best_of(norms), &smallest = *norms.front();
  return Finding{best.top1.mean > smallest.top1.mean,
                 fmt::format("{} at {:g}", signed_points(smallest.top1.mean - best.top1.mean), smallest.alpha), "",
                 against(best, smallest)};
}

}  // namespace

void judge_decay(const Studies& studies, std::vector<Claim>& claims) {
  const auto all = training_runs(studies, "decay");
  const auto* runs = find(all, DataSet::kCifar10);
  constexpr const char* kPaper = "The paper: ResNet-56 on CIFAR-10, 130 epochs.";
  Judge judge(claims, "decay", runs == nullptr ? nullptr : runs->source,
              runs == nullptr ? kPaper : fmt::format("Here: {}. {}", set_up(*runs), kPaper));
  judge.add("Fig. 10", "With BS-1/128 the best decay alpha of the moving averages is below the usual 0.9.",
            "best at 0.7", best_is_below_usual(by_alpha(runs)));
  judge.add("Fig. 10", "A decay that is too small costs accuracy.", "falls below 0.7",
            too_small_is_worse(by_alpha(runs)));
}

}  // namespace samplenorm::report
