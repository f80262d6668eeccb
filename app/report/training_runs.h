#pragma once

// The runs of the studies that train, put together by what was trained: accuracy, curves, decay, micro.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/study_file.h"
#include "report/figures.h"
#include "report/norm_name.h"

namespace samplenorm::report {

/// Runs that differ in their seed only. A run that broke off counts: as guessing, and with an infinite loss.
struct NormRuns {
  NormName norm;  ///< its ratio is the record's `sampled` where that is there
  double alpha;   ///< NaN, as the next two, where the study has no such field
  double gradient_batch, statistic_batch;
  size_t broke_off;
  Estimate top1, recalibrated, loss;
  std::vector<const nlohmann::json*> records;  ///< into the studies that were read
};

/// All runs of a study on the same network and images.
struct TrainingRuns {
  const record::StudyRecords* source;
  std::string model, data;
  double images, epochs;
  std::vector<NormRuns> norms;
};

/// The paper's data sets; what is neither CIFAR nor made up counts as ImageNet.
enum class DataSet { kCifar10, kCifar100, kImageNet, kOther };
DataSet data_set(const std::string& name);

/// The records of a study; those of full scale first, then the standard ones, since they are nearer to the paper.
std::vector<const record::StudyRecords*> records_of(const std::vector<record::StudyRecords>& studies,
                                                    const std::string& study);

/// In this order, but for runs most of which have one seed so far: they come last, since they decide nothing.
std::vector<TrainingRuns> training_runs(const std::vector<record::StudyRecords>& studies, const std::string& study);

/// The first on this data set (and network, unless it is empty); null where there is none.
const TrainingRuns* find(const std::vector<TrainingRuns>& all, DataSet data, const std::string& model = "");

/// The norm of this method at about this ratio, the nearest one (without options, if there are two); null if none is.
const NormRuns* find(const TrainingRuns& runs, const std::string& method, double ratio);

/// All norms of this method, by ratio.
std::vector<const NormRuns*> all_of(const TrainingRuns& runs, const std::string& method);

}  // namespace samplenorm::report
