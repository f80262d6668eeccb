// Figs. 4 and 5: training curves.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/claims_by_study.h"
#include "report/comparisons.h"

namespace samplenorm::report {
namespace {

using Rule = std::optional<Finding>;

// A method converges as BN does if its training loss in the last epoch is at most a tenth above BN's.
constexpr double kSameLoss = 1.1;
// Ratios as the paper prints them, "1.6 %", are rounded.
constexpr double kRounding = 0.97;

bool converges(const NormRuns& norm, const NormRuns& bn) { return norm.loss.mean <= kSameLoss * bn.loss.mean; }

std::string losses(const std::vector<const NormRuns*>& norms, const NormRuns& bn) {
  std::vector<std::string> texts;
  for (const auto* norm : norms) texts.push_back(fmt::format("{} {}", norm->norm.text, plain(norm->loss)));
  return fmt::format("{}; BN {}", fmt::join(texts, ", "), plain(bn.loss));
}

/// Holds if every ratio of the method converges as BN does.
Rule harmless(const TrainingRuns& runs, const std::string& method) {
  const auto norms = all_of(runs, method);
  const auto* bn = find(runs, "BN", 1);
  if (norms.empty() || bn == nullptr) return std::nullopt;
  return Finding{std::all_of(norms.begin(), norms.end(), [&](const auto* norm) { return converges(*norm, *bn); }),
                 losses(norms, *bn), "", "Training loss of the last epoch; allowed: a tenth above BN's."};
}

/// Holds if the method converges as BN does from `ratio` on, and at no smaller one.
Rule degrades_below(const TrainingRuns& runs, const std::string& method, double ratio) {
  const auto norms = all_of(runs, method);
  const auto* bn = find(runs, "BN", 1);
  const auto enough = [&](const NormRuns& norm) { return norm.norm.ratio >= kRounding * ratio; };
  const auto above = std::count_if(norms.begin(), norms.end(), [&](const auto* norm) { return enough(*norm); });
  if (bn == nullptr || above == 0 || above == std::ssize(norms)) return std::nullopt;
  return Finding{
      std::all_of(norms.begin(), norms.end(), [&](const auto* norm) { return converges(*norm, *bn) == enough(*norm); }),
      losses(norms, *bn), "",
      "Training loss of the last epoch; holds if it is within a tenth of BN's from that ratio on, and not below."};
}

/// How far a curve jumps from point to point in its second half, root mean square: the smooth decline is small there.
double roughness(const nlohmann::json& run) {
  const auto curve = run.find("losses");
  if (curve == run.end() || !curve->is_array() || curve->size() < 4) return std::numeric_limits<double>::quiet_NaN();
  double squares = 0;
  size_t count = 0;
  for (size_t i = curve->size() / 2 + 1; i < curve->size(); ++i, ++count) {
    const auto &before = (*curve)[i - 1], &point = (*curve)[i];
    if (!before.is_number() || !point.is_number()) return std::numeric_limits<double>::infinity();
    squares += std::pow(point.get<double>() - before.get<double>(), 2);
  }
  return std::sqrt(squares / double(count));
}

Estimate roughness(const NormRuns& norm) {
  std::vector<double> values;
  for (const auto* run : norm.records)
    values.push_back(run->contains("failed") ? std::numeric_limits<double>::infinity() : roughness(*run));
  return estimate(values);
}

/// What the paper sets FRS against: its own methods but NS, and BS where it has enough data.
std::vector<const NormRuns*> proposed(const TrainingRuns& runs) {
  std::vector<const NormRuns*> norms;
  for (const auto* method : {"BS", "FS", "VDN", "FS+VDN"})
    for (const auto* norm : all_of(runs, method))
      if (norm->norm.method != "BS" || norm->norm.ratio >= kRounding / 64) norms.push_back(norm);
  return norms;
}

Rule scattered_is_unstable(const TrainingRuns& runs) {
  const auto scattered = all_of(runs, "FRS");
  const auto others = proposed(runs);
  if (scattered.empty() || others.empty()) return std::nullopt;
  const Estimate own = roughness(*scattered.front());
  if (std::isnan(own.mean)) return std::nullopt;
  bool holds = true;
  std::vector<std::string> texts;
  for (const auto* norm : others) {
    const Estimate other = roughness(*norm);
    holds = holds && own.mean > other.mean;
    texts.push_back(fmt::format("{} {}", norm->norm.text, plain(other)));
  }
  return Finding{holds, fmt::format("FRS {}; {}", plain(own), fmt::join(texts, ", ")), "",
                 "Jumps of the training loss in the second half of a curve, root mean square."};
}

Rule scattered_is_less_accurate(const TrainingRuns& runs) {
  const auto scattered = all_of(runs, "FRS");
  std::vector<Pair> pairs;
  for (const auto* norm : proposed(runs))
    if (!scattered.empty()) pairs.push_back({norm, scattered.front()});
  return all_better(pairs);
}

/// Fig. 5: all but NS, and BS below 1.6 %, come within a tenth of BN's loss.
Rule all_but_two_converge(const TrainingRuns& runs) {
  const auto norms = proposed(runs);
  const auto* bn = find(runs, "BN", 1);
  if (norms.empty() || bn == nullptr) return std::nullopt;
  return Finding{std::all_of(norms.begin(), norms.end(), [&](const auto* norm) { return converges(*norm, *bn); }),
                 losses(norms, *bn), "", "Training loss of the last epoch; allowed: a tenth above BN's."};
}

}  // namespace

void judge_curves(const Studies& studies, std::vector<Claim>& claims) {
  const auto all = training_runs(studies, "curves");
  const auto* runs = find(all, DataSet::kCifar10);
  constexpr const char* kPaper = "The paper: ResNet-56, 50,000 images, 130 epochs (FRS: ResNet-18 on ImageNet).";
  Judge judge(claims, "curves", runs == nullptr ? nullptr : runs->source,
              runs == nullptr ? kPaper : fmt::format("Here: {}. {}", set_up(*runs), kPaper));
  for (const auto* method : {"FS", "VDN"})
    judge.add("Fig. 4", fmt::format("{} converges as fast as BN.", method), "no harm",
              ask(runs, [&](const TrainingRuns& there) { return harmless(there, method); }));
  judge.add("Fig. 4", "BS converges more slowly only below 1.6 % of the data.", "below 1.6 %",
            ask(runs, [](const TrainingRuns& there) { return degrades_below(there, "BS", 1.0 / 64); }));
  judge.add("Fig. 4", "NS converges more slowly only below 3.1 % of the data.", "below 3.1 %",
            ask(runs, [](const TrainingRuns& there) { return degrades_below(there, "NS", 1.0 / 32); }));
  judge.add("Fig. 5", "Points scattered at random (FRS) train less steadily than BS, FS and VDN.", "less stable",
            ask(runs, scattered_is_unstable));
  judge.add("Fig. 5", "FRS ends less accurate than BS, FS and VDN.", "much lower",
            ask(runs, scattered_is_less_accurate));
  judge.add("ours", "LS converges as fast as BN.", "",
            ask(runs, [](const TrainingRuns& there) { return harmless(there, "LS"); }));

  const auto* imagenet = find(all, DataSet::kImageNet);
  Judge(claims, "curves", imagenet == nullptr ? nullptr : imagenet->source,
        imagenet == nullptr
            ? "ImageNet is not available here: the same command runs it where the data are, with --full "
              "--data folder."
            : fmt::format("Here: {}. The paper: 1.28 million images, 100 epochs.", set_up(*imagenet)),
        kCannotBeRun)
      .add("Fig. 5", "On ImageNet all methods converge well but NS, and BS below 1.6 %.", "all others",
           ask(imagenet, all_but_two_converge));
}

}  // namespace samplenorm::report
