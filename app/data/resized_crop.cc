#include "data/resized_crop.h"

#include <algorithm>
#include <cmath>

namespace samplenorm::data {
namespace {

constexpr double kLeastArea = 0.08;
constexpr double kWidestRatio = 4.0 / 3;

/// What one point of the result is made of along one direction.
struct Taps {
  int64_t first;
  std::vector<float> weights;
};

/// For `side` points over [begin, begin + length), from pixels [low, high).
std::vector<Taps> make_taps(double begin, double length, int64_t low, int64_t high, int64_t side) {
  const double step = length / static_cast<double>(side);
  const double reach = std::max(step, 1.0);
  std::vector<Taps> all;
  for (int64_t i = 0; i < side; ++i) {
    const double centre = begin + (static_cast<double>(i) + 0.5) * step;
    // Pixel p has its centre at p + 0.5.
    const int64_t first = std::clamp(static_cast<int64_t>(std::floor(centre - reach + 0.5)), low, high - 1);
    const int64_t last = std::clamp(static_cast<int64_t>(std::floor(centre + reach + 0.5)), first + 1, high);
    Taps taps{first, {}};
    double sum = 0;
    for (int64_t p = first; p < last; ++p) {
      const double weight = std::max(0.0, 1 - std::abs(static_cast<double>(p) + 0.5 - centre) / reach);
      taps.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
    all.push_back(std::move(taps));
  }
  return all;
}

std::vector<Taps> taps_along(double begin, double length, int64_t size, bool cut, int64_t side) {
  if (!cut) return make_taps(begin, length, 0, size, side);
  const int64_t low = std::max<int64_t>(0, std::lround(begin));
  const int64_t high = std::min<int64_t>(size, std::max<int64_t>(low + 1, std::lround(begin + length)));
  return make_taps(begin, length, low, high, side);
}

/// One row of the image, resized.
void resize_row(const uint8_t* row, int64_t channels, const std::vector<Taps>& across, float* to) {
  for (const Taps& taps : across) {
    const uint8_t* from = row + taps.first * channels;
    std::fill(to, to + channels, 0.0f);
    for (const float weight : taps.weights) {
      for (int64_t c = 0; c < channels; ++c) to[c] += weight * static_cast<float>(from[c]);
      from += channels;
    }
    to += channels;
  }
}

}  // namespace

Region draw_region(KeyedRandom& random, int64_t height, int64_t width) {
  const auto whole_height = static_cast<double>(height), whole_width = static_cast<double>(width);
  // A draw that does not fit the image is drawn again, but not for ever: very long images may fit none.
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = whole_height * whole_width * random.uniform(kLeastArea, 1);
    const double ratio = std::exp(random.uniform(-std::log(kWidestRatio), std::log(kWidestRatio)));
    const int64_t w = std::max<int64_t>(1, std::lround(std::sqrt(area * ratio)));
    const int64_t h = std::max<int64_t>(1, std::lround(std::sqrt(area / ratio)));
    if (w > width || h > height) continue;
    const int64_t top = random.below(height - h + 1);
    const int64_t left = random.below(width - w + 1);
    return {static_cast<double>(top), static_cast<double>(left), static_cast<double>(h), static_cast<double>(w)};
  }
  const double w = std::min(whole_width, std::round(whole_height * kWidestRatio));
  const double h = std::min(whole_height, std::round(whole_width * kWidestRatio));
  return {std::floor((whole_height - h) / 2), std::floor((whole_width - w) / 2), h, w};
}

Region centre_region(int64_t height, int64_t width, int64_t shorter, int64_t side) {
  // The sizes after resizing, and the crop's place, are whole numbers, as they are when the two steps are done apart.
  const int64_t least = std::min(height, width);
  const int64_t resized_height = shorter * height / least, resized_width = shorter * width / least;
  const auto top = std::round(static_cast<double>(resized_height - side) / 2);
  const auto left = std::round(static_cast<double>(resized_width - side) / 2);
  const double down = static_cast<double>(height) / static_cast<double>(resized_height);
  const double across = static_cast<double>(width) / static_cast<double>(resized_width);
  return {top * down, left * across, static_cast<double>(side) * down, static_cast<double>(side) * across};
}

void write_region(const Image& image, const Region& region, bool cut, bool flipped, int64_t side,
                  const Normalizer& normalizer, float* to) {
  auto across = taps_along(region.left, region.width, image.width, cut, side);
  const auto down = taps_along(region.top, region.height, image.height, cut, side);
  if (flipped) std::reverse(across.begin(), across.end());

  const int64_t first = down.front().first;
  const int64_t last = down.back().first + static_cast<int64_t>(down.back().weights.size());
  const int64_t row_values = side * image.channels;
  std::vector<float> rows(static_cast<size_t>((last - first) * row_values));
  for (int64_t y = first; y < last; ++y) {
    resize_row(image.bytes.data() + y * image.width * image.channels, image.channels, across,
               rows.data() + (y - first) * row_values);
  }
  std::vector<float> sum(static_cast<size_t>(row_values));
  for (const Taps& taps : down) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    const float* row = rows.data() + (taps.first - first) * row_values;
    for (const float weight : taps.weights) {
      for (int64_t i = 0; i < row_values; ++i) sum[static_cast<size_t>(i)] += weight * row[i];
      row += row_values;
    }
    normalizer.run(sum.data(), row_values, to);
    to += row_values;
  }
}

}  // namespace samplenorm::data
