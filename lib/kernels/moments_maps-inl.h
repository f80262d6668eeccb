// Sums over the maps of contiguous tensors. Included once for each instruction set.

#if defined(SAMPLENORM_KERNELS_MOMENTS_MAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SAMPLENORM_KERNELS_MOMENTS_MAPS_INL_H_
#undef SAMPLENORM_KERNELS_MOMENTS_MAPS_INL_H_
#else
#define SAMPLENORM_KERNELS_MOMENTS_MAPS_INL_H_
#endif

#include <cstring>

#include "kernels/moments_part.h"
#include "kernels/moments_points-inl.h"
#include "kernels/offsets.h"
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

using kernels::are_neighbours;
using kernels::kNeighbours;

template <class T>
double as_double(T value) {
  return static_cast<double>(static_cast<Compute<T>>(value));
}

/// Adds up `count` elements side by side.
template <class T>
HWY_INLINE void sum_elements(const T* x, int64_t count, double shift, double& sum, double& squares) {
  const hn::ScalableTag<double> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const auto shifts = hn::Set(full, shift);
  auto sum0 = hn::Zero(full), sum1 = hn::Zero(full), squares0 = hn::Zero(full), squares1 = hn::Zero(full);
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto deviation0 = hn::Sub(load_double(full, x + i), shifts);
    const auto deviation1 = hn::Sub(load_double(full, x + i + kLanes), shifts);
    sum0 = hn::Add(sum0, deviation0);
    sum1 = hn::Add(sum1, deviation1);
    squares0 = hn::MulAdd(deviation0, deviation0, squares0);
    squares1 = hn::MulAdd(deviation1, deviation1, squares1);
  }
  for_lanes(full, i, count, [&]<class D>(D d, int64_t j) HWY_ATTR {
    const auto deviation = hn::Sub(load_double(d, x + j), hn::Set(d, shift));
    sum += hn::GetLane(hn::SumOfLanes(d, deviation));
    squares += hn::GetLane(hn::SumOfLanes(d, hn::Mul(deviation, deviation)));
  });
  sum += hn::GetLane(hn::SumOfLanes(full, hn::Add(sum0, sum1)));
  squares += hn::GetLane(hn::SumOfLanes(full, hn::Add(squares0, squares1)));
}

/// Points one after the other, row by row.
template <class T>
void sum_rows(const Layout& in, const T* x, const MomentsPart& part) {
  const int64_t map = in.points(), begin = part.points[part.begin], end = begin + part.end - part.begin;
  const T* first_point = x + part.points.first / map * in.row_stride + part.points.first % map;
  for (int64_t c = part.first_channel; c < part.end_channel; ++c) {
    const double shift = as_double(first_point[c * in.channel_stride]);
    double sum = 0, squares = 0;
    for (int64_t number = begin; number < end;) {
      const int64_t row = number / map, in_row = HWY_MIN((row + 1) * map, end) - number;
      sum_elements(x + row * in.row_stride + c * in.channel_stride + number - row * map, in_row, shift, sum, squares);
      number += in_row;
    }
    part.sum[c] = sum;
    part.sum_of_squares[c] = squares;
  }
}

/// Copies points of kChannels channels. They may lie far apart: their lines are asked for ahead.
template <int kChannels, class T>
HWY_INLINE void gather(const T* x, int64_t channel_stride, std::span<const int64_t> offsets, size_t begin, size_t end,
                       T* to, int64_t to_stride) {
  constexpr size_t kAhead = 64 / kChannels;
  const auto copy_point = [&](size_t i) HWY_ATTR {
    const int64_t here = offsets[i], ahead = offsets[HWY_MIN(i + kAhead, offsets.size() - 1)];
    for (int c = 0; c < kChannels; ++c) {
      hwy::Prefetch(x + c * channel_stride + ahead);
      to[c * to_stride + static_cast<int64_t>(i - begin)] = x[c * channel_stride + here];
    }
  };
  size_t i = begin;
  for (; i + kNeighbours <= end; i += kNeighbours) {
    if (are_neighbours(offsets.data() + i)) {
      for (int c = 0; c < kChannels; ++c)
        std::memcpy(to + c * to_stride + (i - begin), x + c * channel_stride + offsets[i], kNeighbours * sizeof(T));
    } else {
      for (size_t j = 0; j < kNeighbours; ++j) copy_point(i + j);
    }
  }
  for (; i < end; ++i) copy_point(i);
}

/// Listed points are gathered, in the copy or else in a little memory for the time being, and then added up.
template <int kChannels, class T>
HWY_INLINE void gather_and_sum(const Layout& in, const T* x, const MomentsPart& part, SampleCopy<T> copy,
                               int64_t first_channel) {
  constexpr int64_t kPiece = 256;
  T gathered[kChannels * kPiece];
  const T* channels = x + first_channel * in.channel_stride;
  double sums[kChannels] = {}, squares[kChannels] = {};
  for (int64_t begin = part.begin; begin < part.end; begin += kPiece) {
    const int64_t end = HWY_MIN(begin + kPiece, part.end);
    T* to = copy.data ? &copy.at(begin, first_channel) : gathered;
    const int64_t to_stride = copy.data ? copy.channel_stride : kPiece;
    gather<kChannels>(channels, in.channel_stride, part.offsets, static_cast<size_t>(begin), static_cast<size_t>(end),
                      to, to_stride);
    for (int c = 0; c < kChannels; ++c) {
      const double shift = as_double(channels[c * in.channel_stride + part.offsets.front()]);
      sum_elements(to + c * to_stride, end - begin, shift, sums[c], squares[c]);
    }
  }
  std::copy_n(sums, kChannels, part.sum + first_channel);
  std::copy_n(squares, kChannels, part.sum_of_squares + first_channel);
}

template <class T>
void sum_maps(const Layout& in, const T* x, const MomentsPart& part, SampleCopy<T> copy) {
  if (part.offsets.empty()) return sum_rows(in, x, part);
  constexpr int kTogether = 8;  // neighbouring channels share pages of memory
  int64_t c = part.first_channel;
  for (; c + kTogether <= part.end_channel; c += kTogether) gather_and_sum<kTogether>(in, x, part, copy, c);
  for (; c < part.end_channel; ++c) gather_and_sum<1>(in, x, part, copy, c);
}

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
