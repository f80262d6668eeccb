#pragma once

// The paper's two formulas about estimates, checked on real activations.

#include <torch/types.h>

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace samplenorm::study {

/// Var[mean of s points] = (1/s^2) (sum Var + 2 sum Cov), for patches and lattices of s points within a map, and for
/// whole rows. x: (N, C, H, W) with H = W a power of two. Variances are in units of that of one point, averaged over
/// channels: "measured" over all places and rows; "predicted" from the covariances of points by their distance;
/// "independent" without them, 1/s. A list of objects with "pattern" and "s".
nlohmann::json variances_of_estimates(const torch::Tensor& x);

/// Var[moving average] = alpha/(2-alpha) Var[estimate]. `series`: for each layer estimates of its means, (steps, C), of
/// a network that does not change. A list of objects with "alpha", "measured" (averaged over channels and layers) and
/// "predicted".
nlohmann::json variances_of_moving_averages(const std::vector<torch::Tensor>& series,
                                            const std::vector<double>& alphas);

}  // namespace samplenorm::study
