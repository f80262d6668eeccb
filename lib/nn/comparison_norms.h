#pragma once

// The normalizations that the sampled ones are compared with. One file each, one line each in make_norm.cc.

#include <memory>
#include <optional>
#include <string_view>

#include "samplenorm/norm.h"

namespace samplenorm {

struct ComparisonNorm {
  std::string_view name;  ///< "GN"
  bool takes_number;      ///< "GN-32"
  std::string_view title;
  std::string_view summary;
  std::shared_ptr<Norm> (*make)(const NormOptions& options, int64_t number);
};

extern const ComparisonNorm l1_batch_norm;
extern const ComparisonNorm range_batch_norm;
extern const ComparisonNorm group_norm;
extern const ComparisonNorm layer_norm;
extern const ComparisonNorm virtual_batch_norm;
extern const ComparisonNorm no_norm;

}  // namespace samplenorm
