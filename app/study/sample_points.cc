#include "study/sample_points.h"

#include <torch/torch.h>

#include <algorithm>

namespace samplenorm::study {
namespace {

void add_points(const Box& box, const Shape& shape, std::vector<int64_t>& points) {
  for (int64_t n = box.rows.begin; n < box.rows.end; n += box.rows.step)
    for (int64_t d = box.depths.begin; d < box.depths.end; d += box.depths.step)
      for (int64_t h = box.heights.begin; h < box.heights.end; h += box.heights.step)
        for (int64_t w = box.widths.begin; w < box.widths.end; w += box.widths.step)
          points.push_back(((n * shape.depth + d) * shape.height + h) * shape.width + w);
}

}  // namespace

std::vector<int64_t> points_of(const Group& group, const Shape& shape) {
  std::vector<int64_t> points;
  for (const auto& box : group.boxes) add_points(box, shape, points);
  std::sort(points.begin(), points.end());
  return points;
}

SampleStatistics statistics_of(const torch::Tensor& x, const Sample& sample, const Shape& shape) {
  const torch::NoGradGuard no_gradients;
  const auto points = x.movedim(1, -1).reshape({-1, x.size(1)});
  const auto zeros = [&] { return torch::zeros(x.size(1), torch::kDouble); };
  SampleStatistics statistics{zeros(), zeros()};
  for (const auto& group : sample.groups) {
    const auto values = points.index_select(0, torch::tensor(points_of(group, shape))).to(torch::kDouble);
    statistics.mean += group.weight * values.mean(0);
    statistics.variance += group.weight * values.var(0, /*unbiased=*/false);
  }
  return statistics;
}

}  // namespace samplenorm::study
