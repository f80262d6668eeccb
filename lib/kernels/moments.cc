#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "kernels/moments_part.h"
#include "kernels/offsets.h"
#include "kernels/parallel.h"
#include "kernels/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/moments.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/moments_maps-inl.h"
#include "kernels/moments_points-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

template <class T>
void sum_part(const Layout& in, const T* x, const MomentsPart& part, SampleCopy<T> copy) {
  if (is_channels_last(in)) {
    sum_points(in, x, part, copy);
  } else {
    sum_maps(in, x, part, copy);
  }
}

#define DEFINE(T, name)                                                                             \
  void sum_##name(const Layout& in, const T* x, const MomentsPart& part, const SampleCopy<T>& to) { \
    sum_part(in, x, part, to);                                                                      \
  }
SAMPLENORM_FOR_EACH_TYPE(DEFINE)
#undef DEFINE

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace samplenorm::kernels {
namespace {

#define EXPORT(T, name)                                                                      \
  HWY_EXPORT(sum_##name);                                                                    \
  void run(const Layout& in, const T* x, const MomentsPart& part, const SampleCopy<T>& to) { \
    HWY_DYNAMIC_DISPATCH(sum_##name)(in, x, part, to);                                       \
  }
SAMPLENORM_FOR_EACH_TYPE(EXPORT)
#undef EXPORT

/// Calls work(part) for every block of points. Its channels may be divided among threads, since each has sums of its
/// own: one by one in contiguous memory, in whole cache lines for channels last.
template <class Work>
void for_each_part(const Layout& in, const MomentsPart& all, const Blocks& blocks, int64_t bytes, Work work) {
  const int64_t together = is_channels_last(in) ? 64 : 1;
  const int64_t slices = (in.channels + together - 1) / together;
  share(blocks.count() * slices, bytes, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t block = begin / slices, first = begin % slices, last = std::min(slices, first + end - begin);
      MomentsPart part = all;
      part.begin = blocks.begin(block);
      part.end = blocks.end(block);
      part.first_channel = first * together;
      part.end_channel = std::min(last * together, in.channels);
      part.sum += block * 2 * padded_line(in.channels);
      part.sum_of_squares += block * 2 * padded_line(in.channels);
      work(part);
      begin += last - first;
    }
  });
}

}  // namespace

int64_t workspace_size(const Layout& in) {
  return std::max(sum_blocks(in).count(), kMostSampleBlocks) * 2 * padded_line(in.channels);
}

template <class T>
void moments(const Layout& in, const T* x, Points points, Moments& out, SampleCopy<T> copy, Workspace workspace) {
  const Blocks blocks = sample_blocks(points.count);
  const int64_t line = padded_line(in.channels);
  MomentsPart all{};
  all.points = points;
  all.sum = workspace.sums.data();
  all.sum_of_squares = workspace.sums.data() + line;
  int64_t bytes = points.count * in.channels * static_cast<int64_t>(sizeof(T));
  if (!is_channels_last(in) && (points.numbers || copy.data)) {
    all.offsets = offsets_of(in, points, workspace.offsets);
    bytes = points.count * in.channels * kLine;  // each point of each channel may be a line of its own
  }
  for_each_part(in, all, blocks, bytes, [&](const MomentsPart& part) { run(in, x, part, copy); });
  add_blocks(workspace.sums, blocks.count(), line, out.mean, out.m2);

  const auto count = static_cast<double>(points.count);
  out.count = count;
  const T* shifts = x + points[0] / in.points() * in.row_stride + points[0] % in.points() * in.point_stride;
  for (size_t c = 0; c < out.mean.size(); ++c) {
    const double sum = out.mean[c];
    const auto shift = static_cast<Compute<T>>(shifts[static_cast<int64_t>(c) * in.channel_stride]);
    out.mean[c] = static_cast<double>(shift) + sum / count;
    out.m2[c] = std::max(0.0, out.m2[c] - sum * sum / count);
  }
}

#define INSTANTIATE(T, name) template void moments(const Layout&, const T*, Points, Moments&, SampleCopy<T>, Workspace);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::kernels
#endif
