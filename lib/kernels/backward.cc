#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "kernels/parallel.h"
#include "kernels/streaming.h"
#include "kernels/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/backward.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/backward_expression-inl.h"
#include "kernels/simd-inl.h"

#ifndef SAMPLENORM_KERNELS_BACKWARD_PART
#define SAMPLENORM_KERNELS_BACKWARD_PART
namespace samplenorm::kernels {

/// What of a tensor one call works on: points, or the maps of some rows and channels.
struct Part {
  int64_t begin, end;                          ///< points, or rows
  int64_t first_channel = 0, end_channel = 0;  ///< for maps
  double* sum_dy;                              ///< of this part, overwritten; one for each channel of the tensor
  double* sum_dy_x;
  bool streamed;
};

}  // namespace samplenorm::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

using kernels::Part;

/// Sums of this many terms stay in Compute<T>; then they go to double.
constexpr int64_t kPointsToDouble = 256;
constexpr int64_t kChannelsAtOnce = 1024;
/// Sums in Compute<T> of up to kChannelsAtOnce channels.
template <class C>
struct NearSums {
  HWY_ALIGN C dy[kChannelsAtOnce];
  HWY_ALIGN C dy_x[kChannelsAtOnce];
};

/// Where the points of a channels-last tensor are.
template <class T>
struct Points {
  InnerRun<T> first;
  int64_t in_step, out_step, mask_bytes;

  HWY_INLINE InnerRun<T> at(int64_t p) const {
    return {first.dy + p * out_step, first.x + p * in_step, first.dx + p * in_step, first.dresidual + p * out_step,
            first.mask + p * mask_bytes};
  }
};

// Not lambdas, and forced inline: sums must stay in registers.

/// Channels c and on, as many as kVectors of D have, of kPoints points from p on.
template <Store kStore, class E, int kVectors, int kPoints, class D, class T>
HWY_INLINE void backward_columns(D d, const ChannelValues<Compute<T>>& values, const InnerRun<T>* runs, int64_t c,
                                 Compute<T>* near_dy, Compute<T>* near_dy_x) {
  using C = Compute<T>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr int64_t kSecond = kVectors == 2 ? kLanes : 0;
  const auto left = E::coefficients(d, values, [&](const C* of) HWY_ATTR { return hn::LoadU(d, of + c); });
  const auto right = E::coefficients(d, values, [&](const C* of) HWY_ATTR { return hn::LoadU(d, of + c + kSecond); });
  auto dy0 = hn::LoadU(d, near_dy), dy1 = hn::LoadU(d, near_dy + kSecond);
  auto dy_x0 = hn::LoadU(d, near_dy_x), dy_x1 = hn::LoadU(d, near_dy_x + kSecond);
  for (int r = 0; r < kPoints; ++r) {
    if constexpr (kVectors == 2) {
      E::template two<kStore>(d, runs[r], c, left, right, dy0, dy_x0, dy1, dy_x1);
    } else {
      E::template one<kStore>(d, runs[r], c, left, dy0, dy_x0);
    }
  }
  if constexpr (E::kSums) {
    hn::StoreU(dy0, d, near_dy);
    hn::StoreU(dy_x0, d, near_dy_x);
    if constexpr (kVectors == 2) {
      hn::StoreU(dy1, d, near_dy + kLanes);
      hn::StoreU(dy_x1, d, near_dy_x + kLanes);
    }
  }
}

/// kPoints points from p on, all channels from `first` on.
template <Store kStore, class E, int kPoints, class T>
HWY_INLINE void backward_rows(const ChannelValues<Compute<T>>& values, const Points<T>& points, int64_t p,
                              int64_t first, int64_t last, NearSums<Compute<T>>& near) {
  const hn::ScalableTag<Compute<T>> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  InnerRun<T> runs[kPoints];
  for (int r = 0; r < kPoints; ++r) runs[r] = points.at(p + r);
  int64_t c = first;
  for (; c + 2 * kLanes <= last; c += 2 * kLanes)
    backward_columns<kStore, E, 2, kPoints>(full, values, runs, c, near.dy + (c - first), near.dy_x + (c - first));
  for_lanes<kStore>(full, c, last, [&](auto d, int64_t i) HWY_ATTR {
    backward_columns<kStore, E, 1, kPoints>(d, values, runs, i, near.dy + (i - first), near.dy_x + (i - first));
  });
}

/// All points of [begin, end), whose two vectors of channels keep their sums in registers.
template <Store kStore, class E, class T>
HWY_INLINE void backward_two_vectors(const ChannelValues<Compute<T>>& values, const Points<T>& points, int64_t begin,
                                     int64_t end, NearSums<Compute<T>>& near) {
  using C = Compute<T>;
  const hn::ScalableTag<C> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const auto left = E::coefficients(full, values, [&](const C* of) HWY_ATTR { return hn::LoadU(full, of); });
  const auto right = E::coefficients(full, values, [&](const C* of) HWY_ATTR { return hn::LoadU(full, of + kLanes); });
  auto dy0 = hn::Zero(full), dy1 = dy0, dy_x0 = dy0, dy_x1 = dy0;
  for (int64_t p = begin; p < end; ++p) {
    const InnerRun<T> run = points.at(p);
    E::template two<kStore>(full, run, 0, left, right, dy0, dy_x0, dy1, dy_x1);
  }
  if constexpr (E::kSums) {
    hn::StoreU(dy0, full, near.dy);
    hn::StoreU(dy1, full, near.dy + kLanes);
    hn::StoreU(dy_x0, full, near.dy_x);
    hn::StoreU(dy_x1, full, near.dy_x + kLanes);
  }
}

/// Points of a channels-last tensor.
template <Store kStore, class E, class T>
void backward_points(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  using C = Compute<T>;
  const hn::ScalableTag<C> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const ChannelValues<C> values(args);
  const Points<T> points{
      {args.dy, args.x, args.dx, args.dresidual, args.mask}, point_step(in), point_step(out), mask_run_bytes(in)};
  const bool by_four = four_points_at_once<T, kStore>(full, in.channels);
  NearSums<C> near;
  for (int64_t first = 0; first < in.channels; first += kChannelsAtOnce) {
    const int64_t last = HWY_MIN(first + kChannelsAtOnce, in.channels);
    if constexpr (E::kSums) {
      std::fill(part.sum_dy + first, part.sum_dy + last, 0.0);
      std::fill(part.sum_dy_x + first, part.sum_dy_x + last, 0.0);
    }
    for (int64_t tile = part.begin; tile < part.end; tile += kPointsToDouble) {
      const int64_t tile_end = HWY_MIN(tile + kPointsToDouble, part.end);
      if constexpr (E::kSums) {
        std::fill(near.dy, near.dy + (last - first), C{0});
        std::fill(near.dy_x, near.dy_x + (last - first), C{0});
      }
      if (in.channels == 2 * kLanes) {
        backward_two_vectors<kStore, E>(values, points, tile, tile_end, near);
      } else {
        int64_t p = tile;
        if (by_four)
          for (; p + 4 <= tile_end; p += 4) backward_rows<kStore, E, 4>(values, points, p, first, last, near);
        for (; p < tile_end; ++p) backward_rows<kStore, E, 1>(values, points, p, first, last, near);
      }
      if constexpr (E::kSums) {
        for (int64_t c = first; c < last; ++c) {
          part.sum_dy[c] += static_cast<double>(near.dy[c - first]);
          part.sum_dy_x[c] += static_cast<double>(near.dy_x[c - first]);
        }
      }
    }
  }
}

/// Sums of one map's channel, spread over lanes.
template <class V>
struct LaneSums {
  V dy, dy_x;
};

/// Elements [begin, end) of a map. `overlap`: the last vector may cover elements once more that are finished.
template <Store kStore, class E, class D, class T>
HWY_INLINE void backward_map(D full, const ChannelValues<Compute<T>>& values, const InnerRun<T>& run, int64_t begin,
                             int64_t end, int64_t c, bool overlap, LaneSums<hn::Vec<D>>& sums) {
  using C = Compute<T>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  const auto coefficients = [&]<class Part>(Part d) HWY_ATTR {
    return E::coefficients(d, values, [&](const C* of) HWY_ATTR { return hn::Set(d, of[c]); });
  };
  const auto of = coefficients(full);
  auto dy1 = hn::Zero(full), dy_x1 = hn::Zero(full);
  int64_t i = begin;
  for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
    E::template two<kStore>(full, run, i, of, of, sums.dy, sums.dy_x, dy1, dy_x1);
  }
  if (i + kLanes <= end) {
    E::template one<kStore>(full, run, i, of, sums.dy, sums.dy_x);
    i += kLanes;
  }
  sums.dy = hn::Add(sums.dy, dy1);
  sums.dy_x = hn::Add(sums.dy_x, dy_x1);
  if (kStore == Store::kStreamed || i == end) return;
  if (overlap && end - begin >= kLanes) {
    auto dy = hn::Zero(full), dy_x = hn::Zero(full);
    E::template one<kStore>(full, run, end - kLanes, of, dy, dy_x);
    const auto finished = hn::FirstN(full, static_cast<size_t>(kLanes - (end - i)));
    sums.dy = hn::Add(sums.dy, hn::IfThenZeroElse(finished, dy));
    sums.dy_x = hn::Add(sums.dy_x, hn::IfThenZeroElse(finished, dy_x));
    return;
  }
  C dy{0}, dy_x{0};
  for_lanes<kStore>(full, i, end, [&]<class Part>(Part d, int64_t j) HWY_ATTR {
    auto part_dy = hn::Zero(d), part_dy_x = hn::Zero(d);
    E::template one<kStore>(d, run, j, coefficients(d), part_dy, part_dy_x);
    if constexpr (E::kSums) {
      dy += hn::GetLane(hn::SumOfLanes(d, part_dy));
      dy_x += hn::GetLane(hn::SumOfLanes(d, part_dy_x));
    }
  });
  sums.dy = hn::Add(sums.dy, hn::InsertLane(hn::Zero(full), 0, dy));
  sums.dy_x = hn::Add(sums.dy_x, hn::InsertLane(hn::Zero(full), 0, dy_x));
}

/// What of a piece of a map is not whole lines. Not inline: it stands twice below, and compilers are slow enough.
template <class E, class D, class T>
HWY_NOINLINE LaneSums<hn::Vec<D>> backward_rest(D full, const ChannelValues<Compute<T>>& values, const InnerRun<T>& run,
                                                int64_t begin, int64_t end, int64_t c, bool overlap) {
  LaneSums<hn::Vec<D>> sums{hn::Zero(full), hn::Zero(full)};
  backward_map<Store::kCached, E>(full, values, run, begin, end, c, overlap, sums);
  return sums;
}

/// A piece of a map; streaming takes its whole lines only.
template <Store kStore, class E, class D, class T>
HWY_INLINE void backward_piece(D full, const ChannelValues<Compute<T>>& values, const InnerRun<T>& run, int64_t begin,
                               int64_t end, int64_t c, bool overlap, LaneSums<hn::Vec<D>>& sums) {
  if constexpr (kStore == Store::kStreamed) {
    const Lines lines = whole_lines(run.dx + begin, end - begin);
    const auto head = backward_rest<E>(full, values, run, begin, begin + lines.begin, c, overlap);
    backward_map<kStore, E>(full, values, run, begin + lines.begin, begin + lines.end, c, overlap, sums);
    const auto tail = backward_rest<E>(full, values, run, begin + lines.end, end, c, overlap);
    sums = {hn::Add(sums.dy, hn::Add(head.dy, tail.dy)), hn::Add(sums.dy_x, hn::Add(head.dy_x, tail.dy_x))};
  } else {
    backward_map<kStore, E>(full, values, run, begin, end, c, overlap, sums);
  }
}

/// Maps of a contiguous tensor. Each channel's sums stay spread over the lanes for as many rows as float allows.
template <Store kStore, class E, class T>
void backward_maps(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  using C = Compute<T>;
  const hn::ScalableTag<C> full;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(full));
  constexpr int64_t kMapsAtOnce = 128;
  constexpr int64_t kPiece = kPointsToDouble * kLanes;
  const ChannelValues<C> values(args);
  const bool overlap = args.dx != args.dy && args.dx != args.x;
  const int64_t points = in.points(), mask_bytes = mask_run_bytes(in);
  const int64_t rows_at_once = HWY_MAX(1, kPiece / points);
  HWY_ALIGN C near_dy[kMapsAtOnce * kLanes];
  HWY_ALIGN C near_dy_x[kMapsAtOnce * kLanes];
  for (int64_t first = part.first_channel; first < part.end_channel; first += kMapsAtOnce) {
    const int64_t last = HWY_MIN(first + kMapsAtOnce, part.end_channel);
    if constexpr (E::kSums) {
      std::fill(part.sum_dy + first, part.sum_dy + last, 0.0);
      std::fill(part.sum_dy_x + first, part.sum_dy_x + last, 0.0);
    }
    for (int64_t row = part.begin; row < part.end; row += rows_at_once) {
      const int64_t end_row = HWY_MIN(row + rows_at_once, part.end);
      for (int64_t n = row; n < end_row; ++n) {
        const int64_t i = n * in.row_stride, o = n * out.row_stride;
        for (int64_t c = first; c < last; ++c) {
          const InnerRun<T> run{args.dy + o + c * points, args.x + i + c * points, args.dx + i + c * points,
                                args.dresidual + o + c * points, args.mask + (n * in.channels + c) * mask_bytes};
          C* dy = near_dy + (c - first) * kLanes;
          C* dy_x = near_dy_x + (c - first) * kLanes;
          LaneSums<hn::Vec<decltype(full)>> sums{hn::Zero(full), hn::Zero(full)};
          if (n > row) sums = {hn::Load(full, dy), hn::Load(full, dy_x)};
          for (int64_t begin = 0; begin < points; begin += kPiece) {
            if (begin > 0) {
              if constexpr (E::kSums) {
                part.sum_dy[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(full, sums.dy)));
                part.sum_dy_x[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(full, sums.dy_x)));
              }
              sums = {hn::Zero(full), hn::Zero(full)};
            }
            backward_piece<kStore, E>(full, values, run, begin, HWY_MIN(begin + kPiece, points), c, overlap, sums);
          }
          hn::Store(sums.dy, full, dy);
          hn::Store(sums.dy_x, full, dy_x);
        }
      }
      if constexpr (E::kSums) {
        for (int64_t c = first; c < last; ++c) {
          const auto dy = hn::Load(full, near_dy + (c - first) * kLanes);
          const auto dy_x = hn::Load(full, near_dy_x + (c - first) * kLanes);
          part.sum_dy[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(full, dy)));
          part.sum_dy_x[c] += static_cast<double>(hn::GetLane(hn::SumOfLanes(full, dy_x)));
        }
      }
    }
  }
}

template <class E, class T>
void choose_loop(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  const auto with = [&]<Store kStore>() {
    if (is_channels_last(in)) {
      backward_points<kStore, E>(in, out, args, part);
    } else {
      backward_maps<kStore, E>(in, out, args, part);
    }
  };
  if constexpr (E::kDx && can_stream<T>(hn::ScalableTag<Compute<T>>())) {
    if (part.streamed) {
      with.template operator()<Store::kStreamed>();
      hwy::FlushStream();
      return;
    }
  }
  with.template operator()<Store::kCached>();
}

template <class T, Gate kGate>
void choose_pass(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  if (!args.dx) return choose_loop<Expression<T, kGate, Pass::kSums>>(in, out, args, part);
  if (args.offset) return choose_loop<Expression<T, kGate, Pass::kCorrectedDx>>(in, out, args, part);
  choose_loop<Expression<T, kGate, Pass::kSumsAndDx>>(in, out, args, part);
}

template <class T>
void backward_part(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  if (args.mask) return choose_pass<T, Gate::kFromMask>(in, out, args, part);
  if (args.relu && !args.relu_shift) {
    return choose_loop<Expression<T, Gate::kFromY, Pass::kSumsAndDx>>(in, out, args, part);
  }
  if (args.relu) return choose_pass<T, Gate::kFromX>(in, out, args, part);
  choose_pass<T, Gate::kNone>(in, out, args, part);
}

#define DEFINE(T, name)                                                                                  \
  void backward_##name(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) { \
    backward_part(in, out, args, part);                                                                  \
  }
SAMPLENORM_FOR_EACH_TYPE(DEFINE)
#undef DEFINE

}  // namespace samplenorm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace samplenorm::kernels {
namespace {

#define EXPORT(T, name)                                                                      \
  HWY_EXPORT(backward_##name);                                                               \
  void run(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) { \
    HWY_DYNAMIC_DISPATCH(backward_##name)(in, out, args, part);                              \
  }
SAMPLENORM_FOR_EACH_TYPE(EXPORT)
#undef EXPORT

/// Calls work(part) for every block of the tensor, on as many threads as it is worth.
template <class Work>
void for_each_part(const Layout& in, int64_t bytes, Part part, Work work) {
  const Blocks blocks = sum_blocks(in);
  if (is_channels_last(in)) {
    share(blocks.count(), bytes, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        Part mine = part;
        mine.begin = blocks.begin(block);
        mine.end = blocks.end(block);
        mine.sum_dy += block * 2 * in.channels;
        mine.sum_dy_x += block * 2 * in.channels;
        work(mine);
      }
    });
    return;
  }
  // Blocks of rows; their channels may be divided among threads, since each has sums of its own.
  share(blocks.count() * in.channels, bytes, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t block = begin / in.channels;
      Part mine = part;
      mine.begin = blocks.begin(block);
      mine.end = blocks.end(block);
      mine.first_channel = begin % in.channels;
      mine.end_channel = std::min(in.channels, mine.first_channel + end - begin);
      mine.sum_dy += block * 2 * in.channels;
      mine.sum_dy_x += block * 2 * in.channels;
      work(mine);
      begin += mine.end_channel - mine.first_channel;
    }
  });
}

}  // namespace

template <class T>
void backward(const Layout& in, const Layout& out, const Backward<T>& args, Workspace workspace) {
  const int64_t bytes = in.rows * in.row_elements() * static_cast<int64_t>(sizeof(T));
  Part part{};
  part.sum_dy = workspace.sums.data();
  part.sum_dy_x = workspace.sums.data() + in.channels;
  const auto streamable = [&](const Layout& layout, const T* to) { return worth_streaming(bytes, layout, to); };
  part.streamed = args.dx && args.dx != args.dy && args.dx != args.x && streamable(in, args.dx) &&
                  (!args.dresidual || (streamable(out, args.dresidual) && same_place_in_line(args.dx, args.dresidual)));
  for_each_part(in, 3 * bytes, part, [&](const Part& mine) { run(in, out, args, mine); });
  if (args.offset) return;
  add_blocks(workspace.sums, sum_blocks(in).count(), args.sum_dy, args.sum_dy_x);
}

#define INSTANTIATE(T, name) template void backward(const Layout&, const Layout&, const Backward<T>&, Workspace);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::kernels
#endif
