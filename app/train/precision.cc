#include "train/precision.h"

#include <ATen/autocast_mode.h>
#include <ATen/cpu/Utils.h>

namespace samplenorm::train {

bool is_native_here(const std::string& precision) {
  if (precision != "bfloat16") return true;
  const auto capabilities = at::cpu::get_cpu_capabilities();
  for (const char* name : {"avx512_bf16", "amx_bf16", "arm_bf16", "bf16"}) {
    const auto found = capabilities.find(name);
    if (found != capabilities.end() && found->second.isBool() && found->second.toBool()) return true;
  }
  return false;
}

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
