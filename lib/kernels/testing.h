#pragma once

// For tests only: tensors indexed long-hand, samples to try, and data on which float arithmetic is exact.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/float16.h"
#include "core/layout.h"
#include "core/points.h"
#include "kernels/arguments.h"
#include "samplenorm/sample.h"

namespace samplenorm {

/// Rows, channels, depth, height, width.
struct Sizes {
  int64_t n, c, d, h, w;

  int64_t elements() const { return n * c * d * h * w; }
};

enum class Format { kContiguous, kChannelsLast };

/// An activation tensor whose elements are found by the definition of its memory format, not by Layout.
template <class T>
struct Tensor {
  Sizes sizes;
  Format format;
  std::vector<T> data = std::vector<T>(static_cast<size_t>(sizes.elements()));

  size_t index(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const {
    const auto& [rows, channels, depth, height, width] = sizes;
    return static_cast<size_t>(format == Format::kContiguous
                                   ? (((n * channels + c) * depth + d) * height + h) * width + w
                                   : (((n * depth + d) * height + h) * width + w) * channels + c);
  }
  double at(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const { return value(index(n, c, d, h, w)); }
  double value(size_t i) const { return static_cast<double>(static_cast<Compute<T>>(data[i])); }
  T* begin() { return data.data(); }

  Layout layout() const {
    const auto& [n, c, d, h, w] = sizes;
    return format == Format::kContiguous ? Layout::contiguous(n, c, d, h, w) : Layout::channels_last(n, c, d, h, w);
  }
};

/// `value` as it is stored in a T.
template <class T>
double stored(double value) {
  return static_cast<double>(static_cast<Compute<T>>(static_cast<T>(static_cast<Compute<T>>(value))));
}

/// Multiples of 1/8 within +-4: exact in every type, and so are their products and sums in float.
inline double coarse(std::mt19937_64& random) { return static_cast<double>(random() % 65) / 8 - 4; }
/// Multiples of 1/4 within +-2.
inline double coarser(std::mt19937_64& random) { return static_cast<double>(random() % 17) / 4 - 2; }
inline double normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }

template <class T>
Tensor<T> filled(const Sizes& sizes, Format format, double (*draw)(std::mt19937_64&), std::mt19937_64& random) {
  Tensor<T> tensor{sizes, format};
  for (T& element : tensor.data) element = static_cast<T>(static_cast<Compute<T>>(draw(random)));
  return tensor;
}

template <class C>
std::vector<C> per_channel(const Sizes& sizes, double (*draw)(std::mt19937_64&), std::mt19937_64& random) {
  std::vector<C> values(static_cast<size_t>(sizes.c));
  for (C& value : values) value = static_cast<C>(draw(random));
  return values;
}

inline bool contains(const Range& range, int64_t i) {
  return i >= range.begin && i < range.end && (i - range.begin) % range.step == 0;
}

/// How many of the group's boxes have the point.
inline int times_in(const Group& group, int64_t n, int64_t d, int64_t h, int64_t w) {
  int times = 0;
  for (const Box& box : group.boxes)
    times += contains(box.rows, n) && contains(box.depths, d) && contains(box.heights, h) && contains(box.widths, w);
  return times;
}

/// Odd numbers of channels and maps without, with one, two and three sides.
inline std::vector<Sizes> all_sizes() {
  std::vector<Sizes> all;
  for (const int64_t channels : {1, 3, 17})
    for (const Sizes& map : {Sizes{5, 1, 1, 1, 1}, Sizes{4, 1, 1, 1, 7}, Sizes{4, 1, 1, 5, 3}, Sizes{3, 1, 2, 3, 5}})
      all.push_back({map.n, channels, map.d, map.h, map.w});
  return all;
}

/// Everything; a box with steps; several boxes, each with an offset of its own, as in lattice sampling.
inline std::vector<Group> groups_in(const Sizes& sizes) {
  const Group all = {1, {{{0, sizes.n}, {0, sizes.d}, {0, sizes.h}, {0, sizes.w}}}};
  const Group steps = {1, {{{1, sizes.n, 2}, {sizes.d / 2, sizes.d}, {0, sizes.h, 2}, {sizes.w / 2, sizes.w, 3}}}};
  const Group several = {1,
                         {{{0, sizes.n, 2}, {0, sizes.d, 2}, {sizes.h / 3, sizes.h, 3}, {0, sizes.w, 2}},
                          {{1, sizes.n, 2}, {sizes.d - 1, sizes.d}, {0, sizes.h, 3}, {sizes.w - 1, sizes.w}}}};
  return {all, steps, several};
}

inline std::vector<int64_t> numbers_of(const Group& group, const Sizes& sizes) {
  return point_numbers(group, {0, sizes.n, sizes.d, sizes.h, sizes.w}, 0);
}
inline Points listed(const std::vector<int64_t>& numbers) { return {numbers.data(), 0, std::ssize(numbers)}; }

/// Without gaps: point by point for channels last, else channel by channel.
template <class T>
SampleCopy<T> dense_copy(const Layout& layout, T* data, int64_t points) {
  if (is_channels_last(layout)) return {data, layout.channels, 1};
  return {data, 1, points};
}

/// Calls visit(sizes, format) for all of both.
template <class Visit>
void for_each_case(Visit visit) {
  for (const Sizes& sizes : all_sizes())
    for (const Format format : {Format::kContiguous, Format::kChannelsLast}) {
      const auto& [n, c, d, h, w] = sizes;
      const std::string name = format == Format::kContiguous ? "contiguous" : "channels last";
      SCOPED_TRACE(::testing::Message() << n << " x " << c << " x " << d << " x " << h << " x " << w << ", " << name);
      visit(sizes, format);
    }
}

/// Calls visit(n, c, d, h, w) for every element.
template <class Visit>
void for_each_index(const Sizes& sizes, Visit visit) {
  for (int64_t w = 0; w < sizes.w; ++w)
    for (int64_t h = 0; h < sizes.h; ++h)
      for (int64_t d = 0; d < sizes.d; ++d)
        for (int64_t c = 0; c < sizes.c; ++c)
          for (int64_t n = 0; n < sizes.n; ++n) visit(n, c, d, h, w);
}

}  // namespace samplenorm
