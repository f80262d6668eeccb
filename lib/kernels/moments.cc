#include <cstring>

#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "kernels/offsets.h"
#include "kernels/parallel.h"
#include "kernels/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/moments.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/simd-inl.h"

#ifndef SAMPLENORM_KERNELS_MOMENTS_PART
#define SAMPLENORM_KERNELS_MOMENTS_PART
namespace samplenorm::kernels {

/// What of a group one call works on. Sums are of x - shift, which keeps their digits where the mean is large.
struct SumsPart {
  std::span<const Run> runs;
  std::span<const int64_t> offsets;  ///< of the points within a channel, where maps are copied
  int64_t group_points;
  int64_t first_channel, end_channel;
  const double* shift;
  double* sum;  ///< of this part, overwritten; one for each channel of the tensor
  double* sum_of_squares;
};

}  // namespace samplenorm::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

using kernels::SumsPart;

/// Elements as doubles.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_double(D d, const T* from) {
  if constexpr (sizeof(T) == 8) {
    return hn::LoadU(d, from);
  } else {
    return hn::PromoteTo(d, load(hn::Rebind<float, D>(), from));
  }
}

template <class T>
void sum_points(const Layout& in, const T* x, const SumsPart& part, T* copy) {
  constexpr int64_t kTogether = 8;
  const hn::ScalableTag<double> full;
  const int64_t channels = in.channels;
  std::fill(part.sum, part.sum + channels, 0.0);
  std::fill(part.sum_of_squares, part.sum_of_squares + channels, 0.0);
  for (const Run& run : part.runs) {
    const T* begin = x + (run.row * in.points() + run.point) * point_step(in);
    const int64_t step = run.step * point_step(in);
    for (int64_t i = 0; i < run.count; i += kTogether) {
      const int64_t end = HWY_MIN(i + kTogether, run.count);
      for_lanes(full, 0, channels, [&]<class D>(D d, int64_t c) HWY_ATTR {
        const auto shift = hn::LoadU(d, part.shift + c);
        auto sum = hn::LoadU(d, part.sum + c);
        auto squares = hn::LoadU(d, part.sum_of_squares + c);
        for (int64_t j = i; j < end; ++j) {
          const auto deviation = hn::Sub(load_double(d, begin + j * step + c), shift);
          sum = hn::Add(sum, deviation);
          squares = hn::MulAdd(deviation, deviation, squares);
        }
        hn::StoreU(sum, d, part.sum + c);
        hn::StoreU(squares, d, part.sum_of_squares + c);
      });
      if (copy) {
        for (int64_t j = i; j < end; ++j)
          std::memcpy(copy + (run.first + j) * channels, begin + j * step, static_cast<size_t>(channels) * sizeof(T));
      }
    }
  }
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

/// Copies the points of kChannels channels. They lie far apart: their lines are asked for ahead.
template <int kChannels, class T>
HWY_INLINE void gather(const T* x, int64_t channel_stride, std::span<const int64_t> offsets, T* to) {
  constexpr size_t kAhead = 64 / kChannels;
  const size_t count = offsets.size();
  for (size_t i = 0; i < count; ++i) {
    const int64_t here = offsets[i], ahead = offsets[HWY_MIN(i + kAhead, count - 1)];
    for (int c = 0; c < kChannels; ++c) {
      hwy::Prefetch(x + c * channel_stride + ahead);
      to[static_cast<size_t>(c) * count + i] = x[c * channel_stride + here];
    }
  }
}

/// Maps without a copy.
template <class T>
void sum_maps(const Layout& in, const T* x, const SumsPart& part) {
  T gathered[kLongestRun];
  for (int64_t c = part.first_channel; c < part.end_channel; ++c) {
    double sum = 0, squares = 0;
    for (const Run& run : part.runs) {
      const T* elements = x + run.row * in.row_stride + c * in.channel_stride + run.point;
      if (run.step != 1) {
        for (int64_t i = 0; i < run.count; ++i) gathered[i] = elements[i * run.step];
        elements = gathered;
      }
      sum_elements(elements, run.count, part.shift[c], sum, squares);
    }
    part.sum[c] = sum;
    part.sum_of_squares[c] = squares;
  }
}

/// Maps with a copy, which is added up as a whole: its runs may be short.
template <class T>
void copy_and_sum_maps(const Layout& in, const T* x, const SumsPart& part, T* copy) {
  constexpr int kTogether = 8;  // neighbouring channels share pages of memory
  int64_t c = part.first_channel;
  for (; c + kTogether <= part.end_channel; c += kTogether)
    gather<kTogether>(x + c * in.channel_stride, in.channel_stride, part.offsets, copy + c * part.group_points);
  for (; c < part.end_channel; ++c)
    gather<1>(x + c * in.channel_stride, in.channel_stride, part.offsets, copy + c * part.group_points);
  for (c = part.first_channel; c < part.end_channel; ++c) {
    double sum = 0, squares = 0;
    sum_elements(copy + c * part.group_points, part.group_points, part.shift[c], sum, squares);
    part.sum[c] = sum;
    part.sum_of_squares[c] = squares;
  }
}

template <class T>
void sum_part(const Layout& in, const T* x, const SumsPart& part, T* copy) {
  if (is_channels_last(in)) {
    sum_points(in, x, part, copy);
  } else if (copy) {
    copy_and_sum_maps(in, x, part, copy);
  } else {
    sum_maps(in, x, part);
  }
}

#define DEFINE(T, name) \
  void sum_##name(const Layout& in, const T* x, const SumsPart& part, T* copy) { sum_part(in, x, part, copy); }
SAMPLENORM_FOR_EACH_TYPE(DEFINE)
#undef DEFINE

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace samplenorm::kernels {
namespace {

#define EXPORT(T, name)                                                   \
  HWY_EXPORT(sum_##name);                                                 \
  void run(const Layout& in, const T* x, const SumsPart& part, T* copy) { \
    HWY_DYNAMIC_DISPATCH(sum_##name)(in, x, part, copy);                  \
  }
SAMPLENORM_FOR_EACH_TYPE(EXPORT)
#undef EXPORT

/// The runs that begin in a block of the group's points.
std::span<const Run> runs_in(std::span<const Run> runs, int64_t begin, int64_t end) {
  const auto from = std::ranges::lower_bound(runs, begin, {}, &Run::first);
  const auto to = std::ranges::lower_bound(runs, end, {}, &Run::first);
  return {from, to};
}

}  // namespace

int64_t workspace_size(const Layout& in) {
  return (std::max(sum_blocks(in).count(), kMostRunBlocks) * 2 + 1) * in.channels;
}

template <class T>
void moments(const Layout& in, const T* x, std::span<const Run> runs, Moments& out, T* sampled_x, Workspace workspace) {
  const int64_t points = points_in(runs);
  const bool by_channel = !is_channels_last(in);
  // A copied channel is added up as a whole.
  const Blocks blocks = by_channel && sampled_x ? Blocks{points, points} : run_blocks(points);
  // In contiguous memory each point of each channel is a line of its own.
  const int64_t bytes = points * in.channels * (by_channel ? kLine : static_cast<int64_t>(sizeof(T)));
  const T* first_point = x + runs.front().row * in.row_stride + runs.front().point * in.point_stride;
  const std::span<double> shift = workspace.sums.first(static_cast<size_t>(in.channels));
  for (int64_t c = 0; c < in.channels; ++c)
    shift[static_cast<size_t>(c)] = static_cast<double>(static_cast<Compute<T>>(first_point[c * in.channel_stride]));
  std::span<const int64_t> offsets;
  if (by_channel && sampled_x) offsets = offsets_of(in, runs, workspace.offsets);

  const std::span<double> sums = workspace.sums.subspan(shift.size());
  const int64_t channel_items = by_channel ? in.channels : 1;
  share(blocks.count() * channel_items, bytes, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t block = begin / channel_items;
      SumsPart part{runs_in(runs, blocks.begin(block), blocks.end(block)),
                    offsets,
                    points,
                    0,
                    in.channels,
                    shift.data(),
                    sums.data() + block * 2 * in.channels,
                    sums.data() + (block * 2 + 1) * in.channels};
      if (by_channel) {
        part.first_channel = begin % channel_items;
        part.end_channel = std::min(in.channels, part.first_channel + end - begin);
      }
      if (part.runs.empty()) {
        std::fill(part.sum + part.first_channel, part.sum + part.end_channel, 0.0);
        std::fill(part.sum_of_squares + part.first_channel, part.sum_of_squares + part.end_channel, 0.0);
      } else {
        run(in, x, part, sampled_x);
      }
      begin += by_channel ? part.end_channel - part.first_channel : 1;
    }
  });

  add_blocks(sums, blocks.count(), out.mean, out.m2);
  const auto count = static_cast<double>(points);
  out.count = count;
  for (size_t c = 0; c < shift.size(); ++c) {
    const double sum = out.mean[c];
    out.mean[c] = shift[c] + sum / count;
    out.m2[c] = std::max(0.0, out.m2[c] - sum * sum / count);
  }
}

#define INSTANTIATE(T, name) \
  template void moments(const Layout&, const T*, std::span<const Run>, Moments&, T*, Workspace);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::kernels
#endif
