#pragma once

// Shared by the tests of nn/.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

namespace samplenorm::testing {

/// Every method, at ratios that sample several points of a small tensor and leave most of it out.
inline const std::vector<std::string> kEverySpec = {"BN",
                                                    "NS-2/8",
                                                    "BS-2/8",
                                                    "FS-1/4",
                                                    "LS-1/4;least=1",
                                                    "VDN-2/8",
                                                    "FRS-1/3",
                                                    "NS-2/8+VDN-2/8",
                                                    "BS-2/8+VDN-1/8",
                                                    "FS-1/4+VDN-2/8",
                                                    "LS-1/4+VDN-2/8;beta=0.3;least=1",
                                                    "LS-1/2;stat_batch=3;least=1",
                                                    "FS-1/4+VDN-1/8;stat_batch=3;redraw=step"};

enum class Format { kContiguous, kChannelsLast, kView };

/// The same values in another memory format; kView is neither contiguous nor channels last.
inline torch::Tensor as(Format format, const torch::Tensor& x) {
  if (format == Format::kContiguous) return x.contiguous();
  if (format == Format::kChannelsLast) return x.movedim(1, -1).contiguous().movedim(-1, 1);
  torch::Tensor wide = torch::stack({x, -x}, -1);
  return wide.select(-1, 0);
}

inline ::testing::AssertionResult close(const torch::Tensor& actual, const torch::Tensor& expected, double relative,
                                        double absolute) {
  if (actual.sizes() != expected.sizes())
    return ::testing::AssertionFailure() << "sizes " << actual.sizes() << " and " << expected.sizes();
  const torch::Tensor a = actual.to(torch::kDouble), e = expected.to(torch::kDouble);
  if (torch::allclose(a, e, relative, absolute, /*equal_nan=*/true)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "differ by up to " << (a - e).abs().max().item<double>() << "\n"
                                       << a.flatten().slice(0, 0, 8) << "\n"
                                       << e.flatten().slice(0, 0, 8);
}

/// Tolerance that the type's own rounding asks for.
inline double tolerance(torch::ScalarType type) {
  switch (type) {
    case torch::kDouble:
      return 1e-10;
    case torch::kFloat:
      return 2e-5;
    case torch::kHalf:
      return 4e-3;
    default:
      return 3e-2;
  }
}

/// The largest difference between the gradient that autograd finds for sum(f(x) * dy) and central differences of it.
template <class Function>
double gradient_error(const torch::Tensor& x, Function function) {
  torch::Tensor input = x.detach().clone().requires_grad_();
  torch::Tensor y = function(input);
  const torch::Tensor dy = torch::randn_like(y);
  const torch::Tensor analytic = torch::autograd::grad({y}, {input}, {dy})[0].contiguous();
  torch::NoGradGuard no_grad;
  double worst = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const auto moved = [&](double by) {
      torch::Tensor other = x.detach().clone(torch::MemoryFormat::Contiguous);
      other.view(-1)[i] += by;
      return (function(other) * dy).sum().template item<double>();
    };
    const double numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
    worst = std::max(worst, std::abs(numeric - analytic.view(-1)[i].template item<double>()));
  }
  return worst;
}

}  // namespace samplenorm::testing
