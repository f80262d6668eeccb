#include "report/training_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace samplenorm::report {
namespace {

using nlohmann::json;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

double accuracy_of_guessing(DataSet data) {
  switch (data) {
    case DataSet::kCifar100:
      return 0.01;
    case DataSet::kImageNet:
      return 0.001;
    default:
      return 0.1;
  }
}

/// A run that broke off says so; one whose accuracy is not a number went as wrong.
bool broke_off(const json& run) { return run.contains("failed") || std::isnan(number_in(run, "top1")); }

NormRuns empty_norm(const json& run) {
  NormRuns runs{.norm = norm_name(text_in(run, "norm")),
                .alpha = number_in(run, "alpha"),
                .gradient_batch = number_in(run, "gradient_batch"),
                .statistic_batch = number_in(run, "statistic_batch"),
                .broke_off = 0,
                .top1 = {},
                .recalibrated = {},
                .loss = {},
                .records = {}};
  const double sampled = number_in(run, "sampled");
  if (sampled > 0) runs.norm.ratio = sampled;
  return runs;
}

NormRuns& norm_of(std::vector<NormRuns>& norms, const json& run) {
  const NormRuns wanted = empty_norm(run);
  for (auto& norm : norms)
    if (norm.norm.text == wanted.norm.text && same(norm.alpha, wanted.alpha) &&
        same(norm.gradient_batch, wanted.gradient_batch) && same(norm.statistic_batch, wanted.statistic_batch))
      return norm;
  norms.push_back(wanted);
  return norms.back();
}

TrainingRuns& runs_of(std::vector<TrainingRuns>& all, const record::StudyRecords& source, const json& run) {
  const TrainingRuns wanted{
      &source, text_in(run, "model"), text_in(run, "data"), number_in(run, "images"), number_in(run, "epochs"), {}};
  for (auto& runs : all)
    if (runs.source == wanted.source && runs.model == wanted.model && runs.data == wanted.data &&
        same(runs.images, wanted.images) && same(runs.epochs, wanted.epochs))
      return runs;
  all.push_back(wanted);
  return all.back();
}

void estimate_over_seeds(NormRuns& norm, double guessing) {
  std::vector<double> top1, recalibrated, losses;
  for (const json* run : norm.records) {
    const bool broken = broke_off(*run);
    norm.broke_off += broken;
    top1.push_back(broken ? guessing : number_in(*run, "top1"));
    recalibrated.push_back(broken ? guessing : number_in(*run, "recalibrated_top1"));
    const double loss = number_in(*run, "train_loss");
    // In records null is a number that is not finite.
    losses.push_back(
        broken || (std::isnan(loss) && run->contains("train_loss")) ? std::numeric_limits<double>::infinity() : loss);
  }
  norm.top1 = estimate(top1);
  norm.recalibrated = estimate(recalibrated);
  norm.loss = estimate(losses);
}

bool has_several_seeds(const TrainingRuns& runs) {
  const auto several = std::ranges::count_if(runs.norms, [](const NormRuns& norm) { return norm.top1.count > 1; });
  return 2 * several >= std::ssize(runs.norms);
}

}  // namespace

DataSet data_set(const std::string& name) {
  if (name == "cifar10") return DataSet::kCifar10;
  if (name == "cifar100") return DataSet::kCifar100;
  if (name == "synthetic" || name == "fashion-mnist") return DataSet::kOther;
  return DataSet::kImageNet;
}

std::vector<const record::StudyRecords*> records_of(const std::vector<record::StudyRecords>& studies,
                                                    const std::string& study) {
  std::vector<const record::StudyRecords*> found;
  for (const auto& records : studies)
    if (records.study == study) found.push_back(&records);
  const auto rank = [](const auto* records) {
    return records->scale == "full" ? 0 : records->scale == "standard" ? 1 : 2;
  };
  std::stable_sort(found.begin(), found.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return found;
}

std::vector<TrainingRuns> training_runs(const std::vector<record::StudyRecords>& studies, const std::string& study) {
  std::vector<TrainingRuns> all;
  for (const auto* source : records_of(studies, study))
    for (const auto& result : source->results)
      norm_of(runs_of(all, *source, result.fields).norms, result.fields).records.push_back(&result.fields);
  for (auto& runs : all)
    for (auto& norm : runs.norms) estimate_over_seeds(norm, accuracy_of_guessing(data_set(runs.data)));
  std::ranges::stable_partition(all, has_several_seeds);
  return all;
}

const TrainingRuns* find(const std::vector<TrainingRuns>& all, DataSet data, const std::string& model) {
  for (const auto& runs : all)
    if (data_set(runs.data) == data && (model.empty() || runs.model == model)) return &runs;
  return nullptr;
}

const NormRuns* find(const TrainingRuns& runs, const std::string& method, double ratio) {
  const auto distance = [&](const NormRuns& norm) {
    return std::pair(std::abs(std::log(norm.norm.ratio / ratio)), norm.norm.has_options);
  };
  const NormRuns* best = nullptr;
  for (const auto& norm : runs.norms)
    if (norm.norm.method == method && same_ratio(norm.norm.ratio, ratio) &&
        (best == nullptr || distance(norm) < distance(*best)))
      best = &norm;
  return best;
}

std::vector<const NormRuns*> all_of(const TrainingRuns& runs, const std::string& method) {
  std::vector<const NormRuns*> found;
  for (const auto& norm : runs.norms)
    if (norm.norm.method == method) found.push_back(&norm);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto* a, const auto* b) { return a->norm.ratio < b->norm.ratio; });
  return found;
}

}  // namespace samplenorm::report
