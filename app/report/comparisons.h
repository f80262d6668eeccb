#pragma once

// The rules by which accuracies are compared. Means decide; where intervals overlap the note says so.

#include <optional>
#include <string>
#include <vector>

#include "report/training_runs.h"
#include "report/verdict.h"

namespace samplenorm::report {

/// A norm loses next to nothing if its mean accuracy is at most this far below the other's (1 point).
inline constexpr double kNegligible = 0.01;
/// ... and is close to it, or gains little, within this (2 points).
inline constexpr double kClose = 0.02;

struct Pair {
  const NormRuns* a;
  const NormRuns* b;
};

/// Every norm of the methods `a` with every one of the methods `b` at the same ratio. Empty if a method of `a` has no
/// partner of a method of `b`: then not all was measured.
std::vector<Pair> at_same_ratios(const TrainingRuns& runs, const std::vector<std::string>& a,
                                 const std::vector<std::string>& b);

/// Holds if mean(a) > mean(b) in every pair.
std::optional<Finding> all_better(const std::vector<Pair>& pairs);

/// Holds if no norm's mean is more than `tolerance` below the mean of `other`. `paper`: its difference in parts of 1,
/// or NaN where it gives none.
std::optional<Finding> all_close(const std::vector<const NormRuns*>& norms, const NormRuns* other, double tolerance,
                                 double paper);

/// A rule is asked only where runs are there.
template <class Rule>
std::optional<Finding> ask(const TrainingRuns* runs, Rule rule) {
  return runs == nullptr ? std::nullopt : rule(*runs);
}

/// "44.8 ± 1.2 %", and how many of the runs broke off.
std::string accuracy(const NormRuns& norm);

/// "ResNet-20"; other names as they are.
std::string model_name(const std::string& name);
/// "ResNet-20 on cifar10, 10000 images, 2 epochs, 3 seeds (quick form)"
std::string set_up(const TrainingRuns& runs);

}  // namespace samplenorm::report
