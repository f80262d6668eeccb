#include "kernels/backward_part.h"
#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "kernels/parallel.h"
#include "kernels/spans.h"
#include "kernels/streaming.h"
#include "kernels/types.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/backward.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/backward_maps-inl.h"
#include "kernels/backward_points-inl.h"

HWY_BEFORE_NAMESPACE();
namespace samplenorm::HWY_NAMESPACE {

using kernels::Part;

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
  if (!args.dx) return choose_loop<BackwardExpression<T, kGate, Pass::kSums>>(in, out, args, part);
  if (args.offset) return choose_loop<BackwardExpression<T, kGate, Pass::kCorrectedDx>>(in, out, args, part);
  choose_loop<BackwardExpression<T, kGate, Pass::kSumsAndDx>>(in, out, args, part);
}

template <class T>
void backward_part(const Layout& in, const Layout& out, const Backward<T>& args, const Part& part) {
  const bool relu = kernels::kind_of(args.activation) == Activation::Kind::kRelu;
  if (args.mask) return choose_pass<T, Gate::kFromMask>(in, out, args, part);
  if (relu && !args.shift) {
    return choose_loop<BackwardExpression<T, Gate::kFromY, Pass::kSumsAndDx>>(in, out, args, part);
  }
  if (relu) return choose_pass<T, Gate::kFromX>(in, out, args, part);
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
  const bool spans =
      args.mask ? args.activation && args.activation->slope != 0 : kind_of(args.activation) == Activation::Kind::kOther;
  for_each_part(in, 3 * bytes, part,
                [&](const Part& mine) { spans ? backward_spans(in, out, args, mine) : run(in, out, args, mine); });
  if (args.offset) return;
  add_blocks(workspace.sums, sum_blocks(in).count(), args.sum_dy, args.sum_dy_x);
}

#define INSTANTIATE(T, name) template void backward(const Layout&, const Layout&, const Backward<T>&, Workspace);
SAMPLENORM_FOR_EACH_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace samplenorm::kernels
#endif
