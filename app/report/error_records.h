#pragma once

// The records of the study `error`, as claims and the page need them.

#include <string>
#include <vector>

#include "record/study_file.h"
#include "report/norm_name.h"

namespace samplenorm::report {

/// One norm over one epoch. Of means first, of deviations second.
struct NormErrors {
  const record::StudyRecords* source;
  std::string model, data;
  NormName norm;
  double steps;
  double median_error[2];         ///< over layers, of the medians over steps
  double average_correlation[2];  ///< of two layers' errors, over all pairs
  double negative;                ///< part of the pairs of layers whose errors of means correlate negatively
};

/// A correlation over n steps counts as negative below -kNotChance/sqrt(n): where there is none, 1 in 700 comes so low.
inline constexpr double kNotChance = 3;

std::vector<NormErrors> norm_errors(const std::vector<record::StudyRecords>& studies);

/// The method's first norm; null where there is none.
const NormErrors* find(const std::vector<NormErrors>& errors, const std::string& method);

/// The points of the results of this `part`, "variance" or "moving_average", that the first study with any has.
std::vector<nlohmann::json> error_points(const std::vector<record::StudyRecords>& studies, const std::string& part);

}  // namespace samplenorm::report
