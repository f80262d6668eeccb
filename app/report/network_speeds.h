#pragma once

// How fast networks train with each norm, against PyTorch's BatchNorm where that was measured: records of `speed`, and
// of `regularity`'s layers.

#include <string>
#include <vector>

#include "record/study_file.h"
#include "report/norm_name.h"

namespace samplenorm::report {

/// Speeds are ratios to the network's reference, above 1 where the norm is faster; NaN where they were not measured.
struct NormSpeed {
  NormName norm;
  double layers;             ///< of all normalization layers
  double step;               ///< of a training step
  double forward, backward;  ///< of the layers' two directions
};

struct NetworkSpeeds {
  const record::StudyRecords* source;
  std::string model;
  std::string reference;  ///< "torch" where it is among the norms, else the record's own
  double batch, side;
  std::vector<NormSpeed> norms;
};

std::vector<NetworkSpeeds> network_speeds(const std::vector<record::StudyRecords>& studies, const std::string& study);

/// Null where there is none.
const NetworkSpeeds* find(const std::vector<NetworkSpeeds>& networks, const std::string& model);
/// The method's first norm, at about this ratio unless it is 0; null where there is none or its step was not timed.
const NormSpeed* find(const NetworkSpeeds* network, const std::string& method, double ratio = 0);

}  // namespace samplenorm::report
