#pragma once

#include <torch/types.h>

#include <vector>

#include "samplenorm/sample.h"

namespace samplenorm::study {

/// The points of a group as numbers ((row * depth + d) * height + h) * width + w, ascending.
std::vector<int64_t> points_of(const Group& group, const Shape& shape);

/// A layer's statistics as a sample gives them, by the plain formula: each (C), in float64.
struct SampleStatistics {
  torch::Tensor mean;
  torch::Tensor variance;
};
/// Of x (N, C, H, W). Keeps nothing.
SampleStatistics statistics_of(const torch::Tensor& x, const Sample& sample, const Shape& shape);

}  // namespace samplenorm::study
