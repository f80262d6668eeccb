// The kernels on a tensor that is large enough for several threads and for streaming stores.

#include <omp.h>

#include "core/runs.h"
#include "kernels/fast_testing.h"
#include "kernels/reference.h"

namespace samplenorm {
namespace {

/// Random numbers whose sums depend on their order.
template <class T>
struct LargeLayer {
  static constexpr Sizes kSizes{9, 64, 1, 91, 90};
  std::mt19937_64 random{11};
  Tensor<T> x, dy, residual;
  std::vector<Compute<T>> mean = per_channel<Compute<T>>(kSizes, normal, random);
  std::vector<Compute<T>> scale = per_channel<Compute<T>>(kSizes, normal, random);

  explicit LargeLayer(Format format)
      : x(filled<T>(kSizes, format, normal, random)),
        dy(filled<T>(kSizes, format, normal, random)),
        residual(filled<T>(kSizes, format, normal, random)) {}

  struct Result {
    std::vector<double> group_mean, m2, sum, sum_x;
    std::vector<T> y, dx, dresidual, copy;
    std::vector<uint8_t> mask;
    bool operator==(const Result&) const = default;
  };

  Result run(bool fast) {
    const Layout layout = x.layout();
    const Group group = {1, {{{0, kSizes.n, 1}, {0, 1}, {3, kSizes.h, 2}, {1, kSizes.w, 2}}}};
    const auto runs = runs_of(group, {0, kSizes.n, 1, kSizes.h, kSizes.w});
    const std::vector<double> zeros(64);
    Result out{zeros, zeros, zeros, zeros, {}, {}, {}, {}, {}};
    Placed<T> y(x.data, 0), dx(x.data, 0), dresidual(x.data, 0);
    out.copy.resize(static_cast<size_t>(group.points()) * 64);
    out.mask.resize(static_cast<size_t>(kSizes.n * mask_row_bytes(layout)));
    WorkspaceMemory workspace(layout);
    Moments moments{0, out.group_mean, out.m2};
    const Apply<T> apply{x.begin(), residual.begin(), scale.data(), mean.data(), true, y.begin(), out.mask.data()};
    const Backward<T> backward{.dy = dy.begin(),
                               .x = x.begin(),
                               .centre = mean.data(),
                               .scale = scale.data(),
                               .relu = true,
                               .mask = out.mask.data(),
                               .dx = dx.begin(),
                               .dresidual = dresidual.begin(),
                               .sum_dy = out.sum,
                               .sum_dy_x = out.sum_x};
    const Correct<T> correct{out.copy.data(), mean.data(), scale.data(), mean.data(), dx.begin()};
    if (fast) {
      kernels::moments(layout, x.begin(), runs, moments, out.copy.data(), workspace);
      kernels::apply(layout, layout, apply);
      kernels::backward(layout, layout, backward, workspace);
      kernels::correct(layout, runs, correct, workspace);
    } else {
      reference::moments(layout, x.begin(), group, moments);
      reference::gather(layout, x.begin(), group, out.copy.data());
      reference::apply(layout, layout, apply);
      reference::backward(layout, layout, backward);
      reference::correct(layout, group, correct);
    }
    out.y = y.values();
    out.dx = dx.values();
    out.dresidual = dresidual.values();
    return out;
  }
};

TEST(LargeLayer, IsTheSameToTheLastBitForOneToFourThreads) {
  const int threads_before = omp_get_max_threads();
  for (const Format format : {Format::kContiguous, Format::kChannelsLast}) {
    LargeLayer<float> layer(format);
    on_every_instruction_set([&] {
      omp_set_num_threads(1);
      const auto alone = layer.run(true);
      for (const int threads : {2, 3, 4}) {
        omp_set_num_threads(threads);
        EXPECT_TRUE(layer.run(true) == alone) << threads << " threads";
      }
    });
  }
  omp_set_num_threads(threads_before);
}

TEST(LargeLayer, EqualsThePlainKernelsWithStreamingStoresToo) {
  for (const Format format : {Format::kContiguous, Format::kChannelsLast}) {
    LargeLayer<float> layer(format);
    const auto expected = layer.run(false);
    on_every_instruction_set([&] {
      const auto found = layer.run(true);
      expect_equal(found.y, expected.y, "y");
      EXPECT_EQ(found.mask, expected.mask);
      expect_equal(found.copy, expected.copy, "copy");
      expect_equal(found.dresidual, expected.dresidual, "dresidual");
      for (size_t i = 0; i < found.dx.size(); ++i) ASSERT_NEAR(found.dx[i], expected.dx[i], 1e-5) << i;
      for (size_t c = 0; c < 64; ++c) {
        EXPECT_NEAR(found.sum[c], expected.sum[c], 2e-2);
        EXPECT_NEAR(found.sum_x[c], expected.sum_x[c], 2e-2);
        EXPECT_NEAR(found.group_mean[c], expected.group_mean[c], 1e-10);
        EXPECT_NEAR(found.m2[c], expected.m2[c], 1e-6);
      }
    });
  }
}

}  // namespace
}  // namespace samplenorm
