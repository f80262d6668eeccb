#include "study/places.h"

#include "samplenorm/notation.h"
#include "study/sample_points.h"

namespace samplenorm::study {
namespace {

/// Where the values of a tensor are: x[place of row n, point p][channel c] = n * row + p * point + c * channel.
struct Strides {
  int64_t map_points, row, point, channel;
};

struct Sums {
  std::vector<float> sum, squares;
};

void finish(const Sums& sums, size_t channel, size_t count, PlaceStatistics& statistics) {
  const double mean = static_cast<double>(sums.sum[channel]) / static_cast<double>(count);
  statistics.mean[channel] = mean;
  statistics.variance[channel] = static_cast<double>(sums.squares[channel]) / static_cast<double>(count) - mean * mean;
}

/// All channels of a point together: contiguous in channels_last.
void add_shared(const float* x, const Strides& strides, const std::vector<int64_t>& places, Sums& sums) {
  const size_t channels = sums.sum.size();
  for (const int64_t place : places) {
    const float* point = x + (place / strides.map_points) * strides.row + (place % strides.map_points) * strides.point;
    for (size_t c = 0; c < channels; ++c) {
      const float value = point[static_cast<int64_t>(c) * strides.channel];
      sums.sum[c] += value;
      sums.squares[c] += value * value;
    }
  }
}

void add_channel(const float* x, const Strides& strides, const std::vector<int64_t>& places, size_t channel,
                 Sums& sums) {
  const float* map = x + static_cast<int64_t>(channel) * strides.channel;
  float sum = 0, squares = 0;
  for (const int64_t place : places) {
    const float value = map[(place / strides.map_points) * strides.row + (place % strides.map_points) * strides.point];
    sum += value;
    squares += value * value;
  }
  sums.sum[channel] = sum;
  sums.squares[channel] = squares;
}

}  // namespace

Places draw_places(const PlacesOptions& options, torch::IntArrayRef sizes, uint64_t step) {
  const Spec spec = parse(options.norm);
  const Shape shape{.virtual_rows = 0, .rows = sizes[0], .depth = 1, .height = sizes[2], .width = sizes[3]};
  Places places;
  const int64_t lists = options.per_channel ? sizes[1] : 1;
  for (int64_t i = 0; i < lists; ++i) {
    const Key key{.seed = 1, .layer = static_cast<uint64_t>(i), .epoch = step};
    places.lists.push_back(points_of(draw(spec, shape, key).groups.front(), shape));
  }
  return places;
}

PlaceStatistics gather_statistics(const torch::Tensor& x, const Places& places) {
  const Strides strides{x.size(2) * x.size(3), x.stride(0), x.stride(3), x.stride(1)};
  const auto channels = static_cast<size_t>(x.size(1));
  Sums sums{std::vector<float>(channels), std::vector<float>(channels)};
  const float* data = x.const_data_ptr<float>();
  // With places for all channels the order of memory decides which loop is inside.
  const bool shared = places.lists.size() == 1;
  if (shared && strides.channel == 1) add_shared(data, strides, places.lists.front(), sums);
  PlaceStatistics statistics{std::vector<double>(channels), std::vector<double>(channels)};
  for (size_t c = 0; c < channels; ++c) {
    const auto& list = places.lists[shared ? 0 : c];
    if (!shared || strides.channel != 1) add_channel(data, strides, list, c, sums);
    finish(sums, c, list.size(), statistics);
  }
  return statistics;
}

}  // namespace samplenorm::study
