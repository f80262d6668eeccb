#pragma once

// The plain kernels: the definition of what every kernel computes, written to be read, and what the fast ones
// (kernels.h) are tested against. One layer is, in this order, moments (of each group), combine (core/moments.h),
// apply; then backward and correct (for each group).

#include "core/moments.h"
#include "kernels/arguments.h"

namespace samplenorm::reference {

/// Count, mean and M2 of the points, per channel.
template <class T>
void moments(const Layout& in, const T* x, Points points, Moments& out);

template <class T>
void gather(const Layout& in, const T* x, Points points, SampleCopy<T> copy);

template <class T>
void apply(const Layout& in, const Layout& out, const Apply<T>& arguments);

template <class T>
void backward(const Layout& in, const Layout& out, const Backward<T>& arguments);

template <class T>
void correct(const Layout& in, Points points, const Correct<T>& arguments);

}  // namespace samplenorm::reference
