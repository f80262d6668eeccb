#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace samplenorm {

/// What virtual rows look like: independent points with this mean and deviation per channel, (C), or, where there is a
/// root, Gaussian fields with the power spectrum that it is the root of, (H, W, C, C). All in float64.
struct VirtualField {
  at::Tensor mean;
  at::Tensor std;
  at::Tensor root;  ///< or undefined
};

/// Rows of these sizes (rows, C, ...), in float64: a pure function of all its arguments.
at::Tensor virtual_rows(at::IntArrayRef sizes, const VirtualField& field, uint64_t seed, uint64_t step, uint64_t chunk);

/// The Hermitian square root of the matrix at each frequency. It is unique, so that opposite frequencies get conjugate
/// roots and fields are real.
at::Tensor root_of_spectrum(const at::Tensor& spectrum);

}  // namespace samplenorm
