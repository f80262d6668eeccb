#include "train/precision.h"

#include <ATen/autocast_mode.h>

namespace samplenorm::train {

PrecisionGuard::PrecisionGuard(const std::string& precision) : active_(precision == "bfloat16") {
  if (!active_) return;
  before_ = at::autocast::is_autocast_enabled(at::kCPU);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::increment_nesting();
}

PrecisionGuard::~PrecisionGuard() {
  if (!active_) return;
  // Weights that were cast are kept meanwhile; the next step has other weights.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, before_);
}

}  // namespace samplenorm::train
