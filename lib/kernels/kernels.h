#pragma once

// The kernels: what reference.h defines, with vectors (Highway compiles all instruction sets and chooses at run time)
// and threads (OpenMP). Results do not depend on the number of threads: sums are taken over blocks that the shape alone
// decides, and blocks are added in their order (large contiguous maps are divided where lines of memory begin, too: the
// same for all tensors that begin with a line, as torch's do). Nothing is allocated here; sums take a workspace from
// the caller.

#include <cstdint>
#include <span>

#include "core/moments.h"
#include "kernels/arguments.h"

namespace samplenorm::kernels {

/// Memory to work in: workspace_size() sums, and as many offsets as there are points, where these are listed or copied.
struct Workspace {
  std::span<double> sums;
  std::span<int64_t> offsets;
};
int64_t workspace_size(const Layout& in);

/// Count, mean and M2 of the points, per channel. Copies them to `copy` unless its data is null.
template <class T>
void moments(const Layout& in, const T* x, Points points, Moments& out, SampleCopy<T> copy, Workspace workspace);

template <class T>
void apply(const Layout& in, const Layout& out, const Apply<T>& arguments);

template <class T>
void backward(const Layout& in, const Layout& out, const Backward<T>& arguments, Workspace workspace);

/// The points are distinct.
template <class T>
void correct(const Layout& in, Points points, const Correct<T>& arguments, Workspace workspace);

}  // namespace samplenorm::kernels
