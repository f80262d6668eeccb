// Table 2: errors on ImageNet. Of records on folders of images, which are taken for ImageNet.

#include <fmt/format.h>

#include <cmath>

#include "report/claims_by_study.h"
#include "report/comparisons.h"

namespace samplenorm::report {
namespace {

using Rule = std::optional<Finding>;

// An error is the paper's if it is within a point of it, and not converged is what has not half the accuracy of BN.
constexpr double kSameError = 0.01;
constexpr double kNotConverged = 0.5;

struct Row {
  const char *model, *method, *name;
  double ratio, error;
};
constexpr Row kRows[] = {
    {"resnet18", "BN", "BN", 1, 0.298},
    {"resnet18", "NS", "NS-4/128", 4.0 / 128, 0.352},
    {"resnet18", "BS", "BS-4/128", 4.0 / 128, 0.317},
    {"resnet18", "VDN", "VDN-1/128", 1.0 / 128, 0.312},
    {"resnet18", "VDN", "VDN-2/128", 2.0 / 128, 0.308},
    {"resnet18", "FS", "FS-1/64", 1.0 / 64, 0.303},
    {"resnet18", "FS", "FS-1/32", 1.0 / 32, 0.304},
    {"resnet18", "FS+VDN", "FS-1/64+VDN-2/128", 1.0 / 32, 0.300},
    {"densenet121", "BN", "BN", 1, 0.261},
    {"densenet121", "FS+VDN", "FS-1/64+VDN-2/64", 3.0 / 64, 0.267},
};

Rule same_error(const TrainingRuns* runs, const Row& row) {
  const auto* norm = runs == nullptr ? nullptr : find(*runs, row.method, row.ratio);
  if (norm == nullptr) return std::nullopt;
  const double error = 1 - norm->top1.mean;
  return Finding{std::abs(error - row.error) <= kSameError, percent({error, norm->top1.half_width, norm->top1.count}),
                 signed_points(error - row.error), "Allowed: 1 point."};
}

Rule does_not_converge(const TrainingRuns* runs, const char* method, double ratio) {
  if (runs == nullptr) return std::nullopt;
  const auto *norm = find(*runs, method, ratio), *bn = find(*runs, "BN", 1);
  if (norm == nullptr || bn == nullptr) return std::nullopt;
  return Finding{norm->top1.mean < kNotConverged * bn->top1.mean,
                 fmt::format("{} right, BN {}", accuracy(*norm), accuracy(*bn)), "",
                 "Not converged: less than half of BN's accuracy."};
}

Rule beat(const TrainingRuns* runs, const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return runs == nullptr ? std::nullopt : all_better(at_same_ratios(*runs, a, b));
}

/// The mixture against every other method's every ratio.
Rule mixture_is_best(const TrainingRuns* runs) {
  if (runs == nullptr) return std::nullopt;
  const auto* mixture = find(*runs, "FS+VDN", 1.0 / 32);
  std::vector<Pair> pairs;
  for (const auto* method : {"NS", "BS", "VDN", "FS"})
    for (const auto* other : all_of(*runs, method)) pairs.push_back({mixture, other});
  return mixture == nullptr ? std::nullopt : all_better(pairs);
}

Rule explodes_alone(const TrainingRuns* runs) {
  if (runs == nullptr) return std::nullopt;
  const auto vdn = all_of(*runs, "VDN");
  const auto mixture = all_of(*runs, "FS+VDN");
  if (vdn.empty() || mixture.empty()) return std::nullopt;
  const auto &alone = *vdn.front(), &mixed = *mixture.front();
  return Finding{alone.broke_off > 0 && mixed.broke_off == 0,
                 fmt::format("{} alone, {} with FS", accuracy(alone), accuracy(mixed)), "",
                 "Exploded: a run broke off."};
}

}  // namespace

void judge_imagenet(const Studies& studies, std::vector<Claim>& claims) {
  const auto all = training_runs(studies, "accuracy");
  const auto* any = find(all, DataSet::kImageNet);
  const auto *resnet = find(all, DataSet::kImageNet, "resnet18"),
             *densenet = find(all, DataSet::kImageNet, "densenet121");
  Judge judge(claims, "accuracy", any == nullptr ? nullptr : any->source,
              any == nullptr
                  ? "ImageNet is not available here: the same command runs it where the data are, with --full "
                    "--data folder."
                  : fmt::format("Here: {}. The paper: 1.28 million images, 100 epochs.", set_up(*any)),
              kCannotBeRun);
  for (const auto& row : kRows)
    judge.add("Table 2", fmt::format("{} with {} has this top-1 error on ImageNet.", model_name(row.model), row.name),
              fmt::format("{:.1f} %", 100 * row.error),
              same_error(row.model == std::string("resnet18") ? resnet : densenet, row));
  for (const auto* method : {"NS", "BS"})
    judge.add("Table 2", fmt::format("ResNet-18 with {}-1/128 does not converge on ImageNet.", method),
              "does not converge", does_not_converge(resnet, method, 1.0 / 128));
  judge.add("Table 2", "At the same ratio BS, VDN and FS are more accurate than NS on ImageNet.", "always",
            beat(resnet, {"BS", "VDN", "FS"}, {"NS"}));
  judge.add("Table 2", "At the same ratio FS is more accurate than BS and VDN on ImageNet.", "always",
            beat(resnet, {"FS"}, {"BS", "VDN"}));
  judge.add("Table 2", "FS mixed with VDN is the most accurate of all on ImageNet.", "-0.2 points against BN",
            mixture_is_best(resnet));
  judge.add("Section 5.1", "DenseNet-121 explodes with VDN alone, and does not with FS beside it.", "explodes",
            explodes_alone(densenet));
}

}  // namespace samplenorm::report
