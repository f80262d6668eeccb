#pragma once

// apply() and backward() of a part of a tensor for activations other than the identity and ReLU. They go through a
// buffer that stays in the first cache: filled with z of some inner runs, given to the activation, and read again by
// loops that know nothing of it. So the loops are compiled once for all activations.

#include <cstdint>

#include "kernels/arguments.h"
#include "kernels/backward_part.h"

namespace samplenorm::kernels {

inline Activation::Kind kind_of(const Activation* activation) {
  return activation ? activation->kind : Activation::Kind::kIdentity;
}

/// Inner runs [begin, end) of the tensor.
template <class T>
void apply_spans(const Layout& in, const Layout& out, const Apply<T>& arguments, bool streamed, int64_t begin,
                 int64_t end);

/// For a mask, too, if the activation's slope is not 0.
template <class T>
void backward_spans(const Layout& in, const Layout& out, const Backward<T>& arguments, const Part& part);

}  // namespace samplenorm::kernels
