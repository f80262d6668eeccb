#include "study/estimate_variance.h"

#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace samplenorm::study {
namespace {

using nlohmann::json;

/// Covariances of two points of a map by their distance, for each channel: (C, 2H, 2W), where negative distances stand
/// at the end, as the Fourier transform has them.
torch::Tensor covariances(const torch::Tensor& x) {
  const int64_t height = x.size(2), width = x.size(3);
  const auto centred = x - x.mean({0, 2, 3}, /*keepdim=*/true);
  const auto spectrum = torch::fft::rfft2(centred, std::vector<int64_t>{2 * height, 2 * width});
  const auto products =
      torch::fft::irfft2(spectrum.abs().square().mean(0), std::vector<int64_t>{2 * height, 2 * width});
  const auto pairs = [](int64_t side) {
    const auto distance = torch::arange(2 * side, torch::kDouble);
    return side - torch::minimum(distance, 2 * side - distance);
  };
  return products / torch::outer(pairs(height), pairs(width)).clamp_min(1);
}

/// (C): the mean of the covariances over all pairs of side x side points that are `step` apart in a square.
torch::Tensor mean_covariance(const torch::Tensor& covariance, int64_t side, int64_t step) {
  const int64_t period = covariance.size(-1);
  const auto difference = torch::arange(1 - side, side);
  const auto weight = (side - difference.abs()).to(torch::kDouble);
  const auto index = (difference * step).remainder(period);
  const auto chosen = covariance.index_select(1, index).index_select(2, index);
  return (chosen * torch::outer(weight, weight)).sum({1, 2}) / std::pow(static_cast<double>(side), 4);
}

/// (C): the variance over rows and places of means (N, C, ...).
torch::Tensor variance_of(const torch::Tensor& means) {
  return means.movedim(1, 0).flatten(1).var(1, /*unbiased=*/false);
}

struct Estimates {
  std::string pattern;
  int64_t points;
  torch::Tensor measured;
  torch::Tensor predicted;
};

std::vector<Estimates> estimates_of(const torch::Tensor& x) {
  const int64_t rows = x.size(0), channels = x.size(1), side = x.size(2);
  const auto covariance = covariances(x);
  std::vector<Estimates> all;
  for (int64_t k = 1; k <= side; k *= 2) {
    const int64_t cell = side / k;
    const auto cells = x.view({rows, channels, k, cell, k, cell});
    all.push_back({"patch", k * k, variance_of(torch::avg_pool2d(x, k, 1)), mean_covariance(covariance, k, 1)});
    all.push_back({"lattice", k * k, variance_of(cells.mean({2, 4})), mean_covariance(covariance, k, cell)});
  }
  const auto row_means = x.mean({2, 3});
  const auto of_a_row = mean_covariance(covariance, side, 1);
  for (int64_t r = 1; r <= rows / 8; r *= 2) {
    const auto groups = row_means.narrow(0, 0, rows / r * r).view({rows / r, r, channels}).mean(1);
    all.push_back({"rows", r * side * side, variance_of(groups), of_a_row / static_cast<double>(r)});
  }
  return all;
}

}  // namespace

json variances_of_estimates(const torch::Tensor& activations) {
  const torch::NoGradGuard no_gradients;
  const auto x = activations.to(torch::kDouble).contiguous();
  const auto of_a_point = variance_of(x);
  auto list = json::array();
  for (const auto& [pattern, points, measured, predicted] : estimates_of(x))
    list.push_back({{"pattern", pattern},
                    {"s", points},
                    {"measured", (measured / of_a_point).mean().item<double>()},
                    {"predicted", (predicted / of_a_point).mean().item<double>()},
                    {"independent", 1.0 / static_cast<double>(points)}});
  return list;
}

json variances_of_moving_averages(const std::vector<torch::Tensor>& series, const std::vector<double>& alphas) {
  const torch::NoGradGuard no_gradients;
  auto list = json::array();
  for (const double alpha : alphas) {
    // Until then its first value still counts.
    const auto settled = static_cast<int64_t>(std::ceil(5 / alpha));
    double sum = 0;
    for (const auto& estimates : series) {
      const int64_t steps = estimates.size(0);
      auto average = estimates[0];
      std::vector<torch::Tensor> averages;
      for (int64_t i = 1; i < steps; ++i) {
        average = alpha * estimates[i] + (1 - alpha) * average;
        if (i >= std::min(settled, steps / 2)) averages.push_back(average);
      }
      sum += (torch::stack(averages).var(0, false) / estimates.var(0, false)).mean().item<double>();
    }
    list.push_back(
        {{"alpha", alpha}, {"measured", sum / static_cast<double>(series.size())}, {"predicted", alpha / (2 - alpha)}});
  }
  return list;
}

}  // namespace samplenorm::study
