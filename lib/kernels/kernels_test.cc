// The kernels against the plain ones: on every instruction set that this machine has, for all types and both memory
// formats, lengths below and above two vectors, misaligned starts, 1 to 4 threads. Data are chosen so that the
// arithmetic is exact in any order: results must be equal.

#include "kernels/kernels.h"

#include <hwy/highway.h>
#include <hwy/targets.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "core/runs.h"
#include "kernels/reference.h"
#include "kernels/testing.h"

namespace samplenorm {
namespace {

/// Calls visit() once for each instruction set.
template <class Visit>
void on_every_instruction_set(Visit visit) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    visit();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// A tensor in memory that begins `offset` elements behind a line's begin, with guards on both sides.
template <class T>
class Placed {
 public:
  Placed(std::vector<T> values, int64_t offset) : size_(values.size()) {
    memory_.resize(size_ + 2 * kGuard, guard());
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    begin_ = (64 - address % 64) % 64 / sizeof(T) + static_cast<size_t>(offset) + 64 / sizeof(T);
    std::copy(values.begin(), values.end(), memory_.begin() + static_cast<int64_t>(begin_));
  }
  T* begin() { return memory_.data() + begin_; }
  std::vector<T> values() const { return {from(), from() + static_cast<int64_t>(size_)}; }
  bool guards_are_whole() const {
    const auto is_guard = [](const T& value) { return as_double(value) == as_double(guard()); };
    return std::all_of(memory_.begin(), from(), is_guard) &&
           std::all_of(from() + static_cast<int64_t>(size_), memory_.end(), is_guard);
  }
  static double as_double(T value) { return static_cast<double>(static_cast<Compute<T>>(value)); }

 private:
  static constexpr size_t kGuard = 256;
  static T guard() { return static_cast<T>(Compute<T>{-77}); }
  auto from() const { return memory_.begin() + static_cast<int64_t>(begin_); }

  size_t size_, begin_ = 0;
  std::vector<T> memory_;
};

template <class Vector>
void expect_equal(const Vector& actual, const Vector& expected, const char* what) {
  using T = typename Vector::value_type;
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_EQ(Placed<T>::as_double(actual[i]), Placed<T>::as_double(expected[i])) << what << ", element " << i;
}

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

/// Memory for the kernels, full of what earlier work left.
struct WorkspaceMemory {
  std::vector<double> sums;
  std::vector<int64_t> offsets;

  explicit WorkspaceMemory(const Layout& layout)
      : sums(static_cast<size_t>(kernels::workspace_size(layout)), 1e9),
        offsets(static_cast<size_t>(layout.rows * layout.points()), 1 << 30) {}
  operator kernels::Workspace() { return {sums, offsets}; }
};

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

using Types = ::testing::Types<float, double, BFloat16, Float16>;
TYPED_TEST_SUITE(KernelsTest, Types);

TYPED_TEST(KernelsTest, ApplyEqualsThePlainOne) {
  using T = TypeParam;
  this->for_each_size([&](const Sizes& sizes, const Layout& layout, int64_t offset) {
    const auto scale = this->channels(sizes), shift = this->channels(sizes);
    Placed<T> x(this->values(sizes), offset), residual(this->values(sizes), offset);
    const auto mask_bytes = static_cast<size_t>(sizes.n * mask_row_bytes(layout));
    for (const bool with_residual : {false, true})
      for (const int relu : {0, 1, 2}) {  // 2: with a mask
        std::vector<uint8_t> expected_mask(mask_bytes);
        Placed<T> expected(x.values(), 0);
        Apply<T> args{
            x.begin(),        with_residual ? residual.begin() : nullptr, scale.data(), shift.data(), relu > 0,
            expected.begin(), relu == 2 ? expected_mask.data() : nullptr};
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
  enum Relu { kNone, kFromX, kFromMask };
  this->for_each_size([&](const Sizes& sizes, const Layout& layout, int64_t offset) {
    const auto centre = this->channels(sizes), scale = this->channels(sizes), relu_scale = this->channels(sizes),
               relu_shift = this->channels(sizes), line_offset = this->channels(sizes), slope = this->channels(sizes);
    Placed<T> x(this->values(sizes), offset), dy(this->values(sizes), offset);
    std::vector<uint8_t> mask(static_cast<size_t>(sizes.n * mask_row_bytes(layout)));
    for (uint8_t& byte : mask) byte = static_cast<uint8_t>(this->random());
    WorkspaceMemory workspace(layout);
    const std::vector<T> blank(x.values().size());
    for (const Relu relu : {kNone, kFromX, kFromMask})
      for (const char* pass : {"sums and dx", "sums", "corrected dx"}) {
        SCOPED_TRACE(pass);
        const bool corrected = pass[0] == 'c', only_sums = std::string(pass) == "sums";
        Placed<T> expected_dx(blank, 0), expected_dresidual(blank, 0);
        std::vector<double> expected_sum(static_cast<size_t>(corrected ? 0 : sizes.c)), expected_sum_x = expected_sum;
        Backward<T> args{.dy = dy.begin(),
                         .x = x.begin(),
                         .centre = centre.data(),
                         .scale = scale.data(),
                         .relu = relu != kNone,
                         .relu_scale = relu_scale.data(),
                         .relu_shift = relu_shift.data(),
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
        });
      }
  });
}

TYPED_TEST(KernelsTest, MomentsAndTheCopyEqualThePlainOnes) {
  using T = TypeParam;
  this->for_each_size([&](const Sizes& sizes, const Layout& layout, int64_t offset) {
    Placed<T> x(this->values(sizes), offset);
    const Shape shape{0, sizes.n, sizes.d, sizes.h, sizes.w};
    const auto channels = static_cast<size_t>(sizes.c);
    WorkspaceMemory workspace(layout);
    for (const Group& group : groups_in(sizes)) {
      const auto runs = runs_of(group, shape);
      std::vector<double> expected_mean(channels), expected_m2(channels);
      Moments expected{0, expected_mean, expected_m2};
      reference::moments(layout, x.begin(), group, expected);
      Placed<T> expected_copy(std::vector<T>(static_cast<size_t>(group.points()) * channels), 0);
      reference::gather(layout, x.begin(), group, expected_copy.begin());
      on_every_instruction_set([&] {
        for (const bool with_copy : {false, true}) {
          std::vector<double> mean(channels, 9), m2(channels, 9);
          Moments found{9, mean, m2};
          Placed<T> copy(std::vector<T>(expected_copy.values().size()), offset);
          kernels::moments(layout, x.begin(), runs, found, with_copy ? copy.begin() : nullptr, workspace);
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
      const auto runs = runs_of(group, {0, sizes.n, sizes.d, sizes.h, sizes.w});
      Placed<T> copy(std::vector<T>(static_cast<size_t>(group.points() * sizes.c)), offset);
      reference::gather(layout, x.begin(), group, copy.begin());
      Placed<T> expected(before.values(), 0);
      Correct<T> args{copy.begin(), mean.data(), line_offset.data(), slope.data(), expected.begin()};
      reference::correct(layout, group, args);
      on_every_instruction_set([&] {
        Placed<T> dx(before.values(), offset);
        args.dx = dx.begin();
        kernels::correct(layout, runs, args, workspace);
        expect_equal(dx.values(), expected.values(), "dx");
        ASSERT_TRUE(dx.guards_are_whole());
      });
    }
  });
}

/// Large enough for several threads and for streaming stores; random numbers whose sums depend on their order.
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

TYPED_TEST(KernelsTest, TwoInputsGiveWhatTheirConcatenationDoes) {
  using T = TypeParam;
  for (const Format format : {Format::kContiguous, Format::kChannelsLast})
    for (const auto& [left, right] : {std::pair<int64_t, int64_t>{3, 5}, {32, 16}, {7, 33}}) {
      const Sizes sizes{3, left + right, 1, 5, 4};
      auto x = filled<T>(sizes, format, coarse, this->random), dy = filled<T>(sizes, format, coarse, this->random);
      const auto scale = this->channels(sizes), shift = this->channels(sizes);
      std::vector<double> sum(static_cast<size_t>(sizes.c)), sum_x(sum);
      Tensor<T> expected_y = x, expected_dx = x, y = x;
      const Layout whole = x.layout();
      reference::apply(whole, whole,
                       Apply<T>{x.begin(), nullptr, scale.data(), shift.data(), true, expected_y.begin()});
      const auto backward = [&](const T* from, T* dx, const T* gradient, int64_t first, int64_t count) {
        const auto at = static_cast<size_t>(first), many = static_cast<size_t>(count);
        return Backward<T>{.dy = gradient,
                           .x = from,
                           .centre = shift.data() + first,
                           .scale = scale.data() + first,
                           .relu = true,
                           .relu_scale = scale.data() + first,
                           .relu_shift = shift.data() + first,
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
            Apply<T>{part.begin(), nullptr, scale.data() + first, shift.data() + first, true, y.begin() + begin});
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
