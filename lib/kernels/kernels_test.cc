// The kernels against the plain ones: on every instruction set that this machine has, for all types and both memory
// formats, lengths below and above two vectors, misaligned starts. Data are chosen so that the arithmetic is exact in
// any order: results must be equal.

#include "kernels/kernels.h"

#include "kernels/fast_testing.h"
#include "kernels/reference.h"

namespace samplenorm {
namespace {

std::vector<Sizes> sizes_to_try() {
  std::vector<Sizes> all = all_sizes();
  for (int64_t length = 1; length <= 34; ++length) {
    all.push_back({2, length, 1, 1, 3});  // channels last: inner runs of every length
    all.push_back({2, 3, 1, 1, length});  // contiguous: the same
  }
  all.push_back({5, 37, 1, 9, 8});
  all.push_back({33, 5, 1, 7, 7});    // more rows than blocks
  all.push_back({3, 1030, 1, 2, 2});  // more channels than are worked on at once
  all.push_back({3, 2, 2, 48, 50});   // longer maps than runs, and than stay in one precision
  all.push_back({2, 20, 1, 40, 37});  // several blocks of points
  return all;
}

template <class T>
class KernelsTest : public ::testing::Test {
 public:
  using C = Compute<T>;
  std::mt19937_64 random{7};

  std::vector<T> values(const Sizes& sizes) { return filled<T>(sizes, Format::kContiguous, coarse, random).data; }
  std::vector<C> channels(const Sizes& sizes) { return per_channel<C>(sizes, coarser, random); }

  /// Calls visit(sizes, layout, offset) for every size, format and some misaligned starts.
  template <class Visit>
  void for_each_size(Visit visit) {
    int64_t offset = 0;
    for (const Sizes& sizes : sizes_to_try())
      for (const Format format : {Format::kContiguous, Format::kChannelsLast}) {
        offset = (offset + 1) % 5;
        SCOPED_TRACE(::testing::Message()
                     << sizes.n << " x " << sizes.c << " x " << sizes.d << " x " << sizes.h << " x " << sizes.w
                     << (format == Format::kContiguous ? " contiguous" : " channels last") << ", offset " << offset);
        visit(sizes, Tensor<T>{sizes, format, {}}.layout(), offset);
      }
  }
};

using KernelsTypes = ::testing::Types<float, double, BFloat16, Float16>;
TYPED_TEST_SUITE(KernelsTest, KernelsTypes);

TYPED_TEST(KernelsTest, ApplyEqualsThePlainOne) {
  using T = TypeParam;
  const Activation f = find_activation("relu");
  this->for_each_size([&](const Sizes& sizes, const Layout& layout, int64_t offset) {
    const auto scale = this->channels(sizes), shift = this->channels(sizes);
    Placed<T> x(this->values(sizes), offset), residual(this->values(sizes), offset);
    const auto mask_bytes = static_cast<size_t>(sizes.n * mask_row_bytes(layout));
    for (const bool with_residual : {false, true})
      for (const int relu : {0, 1, 2}) {  // 2: with a mask
        std::vector<uint8_t> expected_mask(mask_bytes);
        Placed<T> expected(x.values(), 0);
        Apply<T> args{.x = x.begin(),
                      .residual = with_residual ? residual.begin() : nullptr,
                      .scale = scale.data(),
                      .shift = shift.data(),
                      .activation = relu > 0 ? &f : nullptr,
                      .y = expected.begin(),
                      .mask = relu == 2 ? expected_mask.data() : nullptr};
        reference::apply(layout, layout, args);
        on_every_instruction_set([&] {
          Placed<T> y(std::vector<T>(x.values().size()), offset);
          std::vector<uint8_t> mask(mask_bytes, 0xFF);
          args.y = y.begin();
          if (relu == 2) args.mask = mask.data();
          kernels::apply(layout, layout, args);
          expect_equal(y.values(), expected.values(), "y");
          ASSERT_TRUE(y.guards_are_whole());
          if (relu == 2) {
            ASSERT_EQ(mask, expected_mask);
          }

          Placed<T> in_place(x.values(), offset);
          Apply<T> same = args;
          same.x = same.y = in_place.begin();
          kernels::apply(layout, layout, same);
          expect_equal(in_place.values(), expected.values(), "y in place");
        });
      }
  });
}

TYPED_TEST(KernelsTest, BackwardEqualsThePlainOne) {
  using T = TypeParam;
  enum Relu { kNone, kFromX, kFromY, kFromMask };
  const Activation f = find_activation("relu");
  this->for_each_size([&](const Sizes& sizes, const Layout& layout, int64_t offset) {
    const auto centre = this->channels(sizes), scale = this->channels(sizes), shift = this->channels(sizes),
               line_offset = this->channels(sizes), slope = this->channels(sizes);
    Placed<T> x(this->values(sizes), offset), dy(this->values(sizes), offset);
    std::vector<uint8_t> mask(static_cast<size_t>(sizes.n * mask_row_bytes(layout)));
    for (uint8_t& byte : mask) byte = static_cast<uint8_t>(this->random());
    WorkspaceMemory workspace(layout);
    const std::vector<T> blank(x.values().size());
    for (const Relu relu : {kNone, kFromX, kFromY, kFromMask})
      for (const char* pass : {"sums and dx", "sums", "corrected dx"}) {
        SCOPED_TRACE(pass);
        const bool corrected = pass[0] == 'c', only_sums = std::string(pass) == "sums";
        if (relu == kFromY && (corrected || only_sums)) continue;
        Placed<T> expected_dx(blank, 0), expected_dresidual(blank, 0);
        std::vector<double> expected_sum(static_cast<size_t>(corrected ? 0 : sizes.c)), expected_sum_x = expected_sum;
        Backward<T> args{.dy = dy.begin(),
                         .x = x.begin(),
                         .centre = centre.data(),
                         .scale = scale.data(),
                         .activation = relu != kNone ? &f : nullptr,
                         .shift = relu == kFromY ? nullptr : shift.data(),
                         .mask = relu == kFromMask ? mask.data() : nullptr,
                         .offset = corrected ? line_offset.data() : nullptr,
                         .slope = corrected ? slope.data() : nullptr,
                         .dx = only_sums ? nullptr : expected_dx.begin(),
                         .dresidual = relu == kFromMask && !only_sums ? expected_dresidual.begin() : nullptr,
                         .sum_dy = expected_sum,
                         .sum_dy_x = expected_sum_x};
        reference::backward(layout, layout, args);
        on_every_instruction_set([&] {
          Placed<T> dx(blank, offset), dresidual(blank, offset);
          std::vector<double> sum(expected_sum.size(), 1e9), sum_x(expected_sum.size(), -1e9);
          if (args.dx) args.dx = dx.begin();
          if (args.dresidual) args.dresidual = dresidual.begin();
          args.sum_dy = sum;
          args.sum_dy_x = sum_x;
          kernels::backward(layout, layout, args, workspace);
          expect_equal(dx.values(), expected_dx.values(), "dx");
          expect_equal(dresidual.values(), expected_dresidual.values(), "dresidual");
          ASSERT_TRUE(dx.guards_are_whole() && dresidual.guards_are_whole());
          ASSERT_EQ(sum, expected_sum);
          ASSERT_EQ(sum_x, expected_sum_x);
          if (only_sums) return;
          Placed<T> in_place = dy;
          Backward<T> same = args;
          same.dy = same.dx = in_place.begin();
          kernels::backward(layout, layout, same, workspace);
          expect_equal(in_place.values(), expected_dx.values(), "dx in place");
        });
      }
  });
}

TYPED_TEST(KernelsTest, MomentsAndTheCopyEqualThePlainOnes) {
  using T = TypeParam;
  this->for_each_size([&](const Sizes& sizes, const Layout& layout, int64_t offset) {
    Placed<T> x(this->values(sizes), offset);
    const auto channels = static_cast<size_t>(sizes.c);
    WorkspaceMemory workspace(layout);
    for (const Group& group : groups_in(sizes)) {
      const auto numbers = numbers_of(group, sizes);
      const Points points = listed(numbers);
      std::vector<double> expected_mean(channels), expected_m2(channels);
      Moments expected{0, expected_mean, expected_m2};
      reference::moments(layout, x.begin(), points, expected);
      Placed<T> expected_copy(std::vector<T>(static_cast<size_t>(group.points()) * channels), 0);
      reference::gather(layout, x.begin(), points, dense_copy(layout, expected_copy.begin(), points.count));
      on_every_instruction_set([&] {
        for (const bool with_copy : {false, true}) {
          std::vector<double> mean(channels, 9), m2(channels, 9);
          Moments found{9, mean, m2};
          Placed<T> copy(std::vector<T>(expected_copy.values().size()), offset);
          kernels::moments(layout, x.begin(), points, found,
                           dense_copy(layout, with_copy ? copy.begin() : nullptr, points.count), workspace);
          ASSERT_EQ(found.count, expected.count);
          for (size_t c = 0; c < channels; ++c) {
            ASSERT_NEAR(mean[c], expected_mean[c], 1e-13);
            ASSERT_NEAR(m2[c], expected_m2[c], 1e-10 * (1 + expected_m2[c]));
          }
          if (!with_copy) continue;
          expect_equal(copy.values(), expected_copy.values(), "copy");
          ASSERT_TRUE(copy.guards_are_whole());
        }
      });
    }
  });
}

TYPED_TEST(KernelsTest, CorrectEqualsThePlainOne) {
  using T = TypeParam;
  this->for_each_size([&](const Sizes& sizes, const Layout& layout, int64_t offset) {
    Placed<T> x(this->values(sizes), offset), before(this->values(sizes), offset);
    const auto mean = this->channels(sizes), line_offset = this->channels(sizes), slope = this->channels(sizes);
    WorkspaceMemory workspace(layout);
    for (const Group& group : groups_in(sizes)) {
      const auto numbers = numbers_of(group, sizes);
      const Points points = listed(numbers);
      Placed<T> copy(std::vector<T>(static_cast<size_t>(group.points() * sizes.c)), offset);
      reference::gather(layout, x.begin(), points, dense_copy(layout, copy.begin(), points.count));
      Placed<T> expected(before.values(), 0);
      Correct<T> args{dense_copy<const T>(layout, copy.begin(), points.count), mean.data(), line_offset.data(),
                      slope.data(), expected.begin()};
      reference::correct(layout, points, args);
      for (const bool has_copy : {true, false}) {
        if (!has_copy) args.sample = {};
        args.x = has_copy ? nullptr : x.begin();
        on_every_instruction_set([&] {
          Placed<T> dx(before.values(), offset);
          args.dx = dx.begin();
          kernels::correct(layout, points, args, workspace);
          expect_equal(dx.values(), expected.values(), "dx");
          ASSERT_TRUE(dx.guards_are_whole());
        });
      }
    }
  });
}

TYPED_TEST(KernelsTest, TwoInputsGiveWhatTheirConcatenationDoes) {
  using T = TypeParam;
  const Activation relu = find_activation("relu"), leaky = find_activation("leaky_relu(0.25)");
  for (const Format format : {Format::kContiguous, Format::kChannelsLast})
    for (const auto& [left, right] : {std::pair<int64_t, int64_t>{3, 5}, {32, 16}, {7, 33}}) {
      const Activation* activation = left == 7 ? &leaky : &relu;
      const Sizes sizes{3, left + right, 1, 5, 4};
      auto x = filled<T>(sizes, format, coarse, this->random), dy = filled<T>(sizes, format, coarse, this->random);
      const auto scale = this->channels(sizes), shift = this->channels(sizes);
      std::vector<double> sum(static_cast<size_t>(sizes.c)), sum_x(sum);
      Tensor<T> expected_y = x, expected_dx = x, y = x;
      const Layout whole = x.layout();
      reference::apply(whole, whole,
                       Apply<T>{x.begin(), nullptr, scale.data(), shift.data(), activation, expected_y.begin()});
      const auto backward = [&](const T* from, T* dx, const T* gradient, int64_t first, int64_t count) {
        const auto at = static_cast<size_t>(first), many = static_cast<size_t>(count);
        return Backward<T>{.dy = gradient,
                           .x = from,
                           .centre = shift.data() + first,
                           .scale = scale.data() + first,
                           .activation = activation,
                           .shift = shift.data() + first,
                           .dx = dx,
                           .sum_dy = std::span(sum).subspan(at, many),
                           .sum_dy_x = std::span(sum_x).subspan(at, many)};
      };
      reference::backward(whole, whole, backward(x.begin(), expected_dx.begin(), dy.begin(), 0, sizes.c));
      const auto expected_sum = sum, expected_sum_x = sum_x;
      for (const auto& [first, count] : {std::pair{int64_t{0}, left}, std::pair{left, right}}) {
        const Sizes part_sizes{sizes.n, count, 1, 5, 4};
        Tensor<T> part{part_sizes, format}, dx{part_sizes, format};
        for_each_index(part_sizes, [&](int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
          part.data[part.index(n, c, d, h, w)] = x.data[x.index(n, first + c, d, h, w)];
        });
        Layout out = whole;
        out.channels = count;
        const int64_t begin = first * whole.channel_stride;
        kernels::apply(
            part.layout(), out,
            Apply<T>{part.begin(), nullptr, scale.data() + first, shift.data() + first, activation, y.begin() + begin});
        WorkspaceMemory workspace(part.layout());
        kernels::backward(part.layout(), out, backward(part.begin(), dx.begin(), dy.begin() + begin, first, count),
                          workspace);
        for_each_index(part_sizes, [&](int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
          ASSERT_EQ(dx.at(n, c, d, h, w), expected_dx.at(n, first + c, d, h, w));
        });
      }
      expect_equal(y.data, expected_y.data, "y");
      EXPECT_EQ(sum, expected_sum);
      EXPECT_EQ(sum_x, expected_sum_x);
    }
}

}  // namespace
}  // namespace samplenorm
