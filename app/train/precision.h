#pragma once

#include <string>

namespace samplenorm::train {

/// Whether this processor has instructions for it; if not, other code stands in.
bool is_native_here(const std::string& precision);

/// While it lives, forward passes run in a recipe's precision: "float32" as they stand; "bfloat16" by autocast, where
/// weights and statistics stay in float32.
class PrecisionGuard {
 public:
  explicit PrecisionGuard(const std::string& precision);
  ~PrecisionGuard();
  PrecisionGuard(const PrecisionGuard&) = delete;
  PrecisionGuard& operator=(const PrecisionGuard&) = delete;

 private:
  bool active_;
  bool before_ = false;
};

}  // namespace samplenorm::train
