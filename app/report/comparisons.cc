#include "report/comparisons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace samplenorm::report {
namespace {

using Accuracy = Estimate NormRuns::*;

bool better(const Pair& pair, Accuracy accuracy) { return (pair.a->*accuracy).mean > (pair.b->*accuracy).mean; }

std::string against(const Pair& pair) {
  return fmt::format("{} {} against {} {}", pair.a->norm.text, accuracy(*pair.a), pair.b->norm.text, accuracy(*pair.b));
}

std::string overlap_note(const std::vector<Pair>& pairs) {
  const auto count =
      std::count_if(pairs.begin(), pairs.end(), [](const Pair& pair) { return overlap(pair.a->top1, pair.b->top1); });
  if (count == 0) return "";
  if (pairs.size() == 1) return "The intervals overlap.";
  return fmt::format("In {} of {} comparisons the intervals overlap.", count, pairs.size());
}

/// Running statistics of a short training may be far off: whether the answer is another one without them.
std::string recalibrated_note(const std::vector<Pair>& pairs) {
  const auto number = [&](Accuracy accuracy) {
    return std::count_if(pairs.begin(), pairs.end(), [&](const Pair& pair) { return better(pair, accuracy); });
  };
  const auto known = std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return !std::isnan(pair.a->recalibrated.mean) && !std::isnan(pair.b->recalibrated.mean);
  });
  const auto recalibrated = number(&NormRuns::recalibrated);
  if (!known || recalibrated == number(&NormRuns::top1)) return "";
  return fmt::format("With recalibrated statistics: {} of {}.", recalibrated, pairs.size());
}

}  // namespace

std::vector<Pair> at_same_ratios(const TrainingRuns& runs, const std::vector<std::string>& a,
                                 const std::vector<std::string>& b) {
  std::vector<Pair> pairs;
  for (const auto& method : a)
    for (const auto& other : b) {
      const size_t before = pairs.size();
      for (const auto* norm : all_of(runs, method))
        if (const auto* partner = find(runs, other, norm->norm.ratio)) pairs.push_back({norm, partner});
      if (pairs.size() == before) return {};
    }
  return pairs;
}

std::optional<Finding> all_better(const std::vector<Pair>& pairs) {
  if (pairs.empty()) return std::nullopt;
  std::vector<std::string> not_so;
  for (const auto& pair : pairs)
    if (!better(pair, &NormRuns::top1)) not_so.push_back(against(pair));
  Finding finding{not_so.empty(), fmt::format("in {} of {} comparisons", pairs.size() - not_so.size(), pairs.size())};
  const auto notes = sentences({overlap_note(pairs), recalibrated_note(pairs)});
  if (pairs.size() == 1) {
    finding.here = fmt::format("{} against {}", accuracy(*pairs[0].a), accuracy(*pairs[0].b));
    finding.note = notes;
  } else {
    finding.note = sentences({not_so.empty() ? "" : fmt::format("Not so: {}.", fmt::join(not_so, "; ")), notes});
  }
  return finding;
}

std::optional<Finding> all_close(const std::vector<const NormRuns*>& norms, const NormRuns* other, double tolerance,
                                 double paper) {
  if (norms.empty() || other == nullptr) return std::nullopt;
  const auto* worst = *std::min_element(norms.begin(), norms.end(),
                                        [](const auto* a, const auto* b) { return a->top1.mean < b->top1.mean; });
  const double loss = worst->top1.mean - other->top1.mean;
  Finding finding{loss >= -tolerance, signed_points(loss)};
  if (norms.size() > 1) finding.here = fmt::format("at worst {} ({})", finding.here, worst->norm.text);
  if (!std::isnan(paper)) finding.difference = signed_points(loss - paper);
  const double recalibrated = worst->recalibrated.mean - other->recalibrated.mean;
  finding.note = sentences(
      {fmt::format("{}; allowed: {:.0f} point{}.", against({worst, other}), 100 * tolerance,
                   tolerance > 0.01 ? "s" : ""),
       overlap_note({{worst, other}}),
       std::isnan(recalibrated) ? "" : fmt::format("With recalibrated statistics: {}.", signed_points(recalibrated))});
  return finding;
}

std::string accuracy(const NormRuns& norm) {
  if (norm.broke_off == 0) return percent(norm.top1);
  return fmt::format("{} ({} of {} broke off)", percent(norm.top1), norm.broke_off, norm.top1.count);
}

std::string model_name(const std::string& name) {
  if (name.starts_with("resnet")) return "ResNet-" + name.substr(6);
  if (name.starts_with("densenet")) return "DenseNet-" + name.substr(8);
  return name;
}

namespace {

/// " at a rate of 0.1", or what else is known of it.
std::string rate_of(const TrainingRuns& runs) {
  std::set<double> rates;
  for (const auto& norm : runs.norms) {
    const double rate = number_in(*norm.records.front(), "rate");
    if (!std::isnan(rate)) rates.insert(rate);
  }
  if (rates.empty()) return "";
  return rates.size() == 1 ? fmt::format(" at a rate of {:g}", *rates.begin()) : ", each norm at its own rate";
}

}  // namespace

std::string set_up(const TrainingRuns& runs) {
  size_t fewest = runs.norms.front().top1.count, most = fewest;
  for (const auto& norm : runs.norms) {
    fewest = std::min(fewest, norm.top1.count);
    most = std::max(most, norm.top1.count);
  }
  const auto seeds = fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most);
  return fmt::format("{} on {}, {:.0f} images, {:.0f} epochs{}, {} seed{} ({} form)", model_name(runs.model), runs.data,
                     runs.images, runs.epochs, rate_of(runs), seeds, most == 1 ? "" : "s", runs.source->scale);
}

}  // namespace samplenorm::report
