// The kernels on a tensor that is large enough for several threads and for streaming stores.

#include <omp.h>

#include "kernels/fast_testing.h"
#include "kernels/reference.h"

namespace samplenorm {
namespace {

/// Contiguous, the maps of both begin and end within lines of memory; the second has more of them than are worked on at
/// once.
constexpr Sizes kSizes[] = {{9, 64, 1, 91, 90}, {54, 201, 1, 14, 14}};

/// Random numbers whose sums depend on their order.
template <class T>
struct LargeLayer {
  Sizes sizes;
  bool with_residual;  ///< and so with a mask
  Activation activation;
  std::mt19937_64 random{11};
  Tensor<T> x, dy, residual;
  std::vector<Compute<T>> mean, scale;

  LargeLayer(const Sizes& its_sizes, Format format, bool its_residual, const char* its_activation = "relu")
      : sizes(its_sizes),
        with_residual(its_residual),
        activation(find_activation(its_activation)),
        x(filled<T>(sizes, format, normal, random)),
        dy(filled<T>(sizes, format, normal, random)),
        residual(filled<T>(sizes, format, normal, random)),
        mean(per_channel<Compute<T>>(sizes, normal, random)),
        scale(per_channel<Compute<T>>(sizes, normal, random)) {}

  struct Result {
    std::vector<double> group_mean, m2, sum, sum_x;
    std::vector<T> y, dx, dresidual, copy;
    std::vector<uint8_t> mask;
    bool operator==(const Result&) const = default;
  };

  Result run(bool fast) {
    const Layout layout = x.layout();
    const Group group = {1, {{{0, sizes.n, 1}, {0, 1}, {3, sizes.h, 2}, {1, sizes.w, 2}}}};
    const auto numbers = numbers_of(group, sizes);
    const Points points = listed(numbers);
    const std::vector<double> zeros(static_cast<size_t>(sizes.c));
    Result out{zeros, zeros, zeros, zeros, {}, {}, {}, {}, {}};
    Placed<T> y(x.data, 0), dx(x.data, 0), dresidual(x.data, 0);
    out.copy.resize(static_cast<size_t>(group.points() * sizes.c));
    if (with_residual) out.mask.resize(static_cast<size_t>(sizes.n * mask_row_bytes(layout)));
    WorkspaceMemory workspace(layout);
    Moments moments{0, out.group_mean, out.m2};
    const Apply<T> apply{.x = x.begin(),
                         .residual = with_residual ? residual.begin() : nullptr,
                         .scale = scale.data(),
                         .shift = mean.data(),
                         .activation = &activation,
                         .y = y.begin(),
                         .mask = with_residual ? out.mask.data() : nullptr};
    const Backward<T> backward{.dy = dy.begin(),
                               .x = x.begin(),
                               .centre = mean.data(),
                               .scale = scale.data(),
                               .activation = &activation,
                               .shift = with_residual ? nullptr : mean.data(),
                               .mask = with_residual ? out.mask.data() : nullptr,
                               .dx = dx.begin(),
                               .dresidual = with_residual ? dresidual.begin() : nullptr,
                               .sum_dy = out.sum,
                               .sum_dy_x = out.sum_x};
    const SampleCopy<T> copy = dense_copy(layout, out.copy.data(), points.count);
    const Correct<T> correct{dense_copy<const T>(layout, out.copy.data(), points.count), mean.data(), scale.data(),
                             mean.data(), dx.begin()};
    if (fast) {
      kernels::moments(layout, x.begin(), points, moments, copy, workspace);
      kernels::apply(layout, layout, apply);
      kernels::backward(layout, layout, backward, workspace);
      kernels::correct(layout, points, correct, workspace);
    } else {
      reference::moments(layout, x.begin(), points, moments);
      reference::gather(layout, x.begin(), points, copy);
      reference::apply(layout, layout, apply);
      reference::backward(layout, layout, backward);
      reference::correct(layout, points, correct);
    }
    out.y = y.values();
    out.dx = dx.values();
    out.dresidual = dresidual.values();
    return out;
  }
};

/// Calls check(layer) for layers of T in both formats, with and without a residual.
template <class T, class Check>
void for_each_layer(Check check) {
  for (const Sizes& sizes : kSizes) {
    for (const Format format : {Format::kContiguous, Format::kChannelsLast}) {
      for (const bool with_residual : {false, true}) {
        SCOPED_TRACE(testing::Message() << sizes.c << " channels, channels last: " << (format == Format::kChannelsLast)
                                        << ", residual: " << with_residual);
        LargeLayer<T> layer(sizes, format, with_residual);
        check(layer);
      }
    }
  }
}

TEST(LargeLayer, IsTheSameToTheLastBitForOneToFourThreads) {
  const int threads_before = omp_get_max_threads();
  for_each_layer<float>([](LargeLayer<float>& layer) {
    on_every_instruction_set([&] {
      omp_set_num_threads(1);
      const auto alone = layer.run(true);
      for (const int threads : {2, 3, 4}) {
        omp_set_num_threads(threads);
        EXPECT_TRUE(layer.run(true) == alone) << threads << " threads";
      }
    });
  });
  omp_set_num_threads(threads_before);
}

TEST(LargeLayer, EqualsThePlainKernelsWithStreamingStoresToo) {
  for_each_layer<float>([](LargeLayer<float>& layer) {
    for (const char* name : {"relu", "relu6"}) {
      layer.activation = find_activation(name);
      const auto expected = layer.run(false);
      on_every_instruction_set([&] {
        const auto found = layer.run(true);
        expect_equal(found.y, expected.y, "y");
        EXPECT_EQ(found.mask, expected.mask);
        expect_equal(found.copy, expected.copy, "copy");
        expect_equal(found.dresidual, expected.dresidual, "dresidual");
        for (size_t i = 0; i < found.dx.size(); ++i) ASSERT_NEAR(found.dx[i], expected.dx[i], 1e-5) << i;
        for (size_t c = 0; c < expected.sum.size(); ++c) {
          EXPECT_NEAR(found.sum[c], expected.sum[c], 2e-2);
          EXPECT_NEAR(found.sum_x[c], expected.sum_x[c], 2e-2);
          EXPECT_NEAR(found.group_mean[c], expected.group_mean[c], 1e-7);
          EXPECT_NEAR(found.m2[c], expected.m2[c], 1e-5 * expected.m2[c]);
        }
      });
    }
  });
}

/// A line has twice as many elements of this type, and streaming goes by the bytes.
TEST(LargeLayer, EqualsThePlainKernelsInBFloat16) {
  const Sizes sizes{110, 201, 1, 14, 14};
  LargeLayer<BFloat16> layer(sizes, Format::kContiguous, /*its_residual=*/true);
  const auto expected = layer.run(false);
  on_every_instruction_set([&] {
    const auto found = layer.run(true);
    expect_equal(found.y, expected.y, "y");
    EXPECT_EQ(found.mask, expected.mask);
    expect_equal(found.dresidual, expected.dresidual, "dresidual");
    for (size_t c = 0; c < expected.sum.size(); ++c) EXPECT_NEAR(found.sum[c], expected.sum[c], 2e-2);
  });
}

}  // namespace
}  // namespace samplenorm
