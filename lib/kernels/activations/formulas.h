#pragma once

// The formulas of all activations outside of Highway's namespaces, for plain numbers and tensors.

#include "kernels/activations/formula.h"

namespace samplenorm::formulas {
#include "kernels/activations/registry.h"
}  // namespace samplenorm::formulas
