#pragma once

// A layer as two operators, registered with PyTorch's dispatcher for all devices, and C++ functions that call them.
// Both are pure functions of their arguments, but for the running statistics. sampled_batch_norm is differentiable,
// twice too.

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace samplenorm {

using OptionalTensor = std::optional<at::Tensor>;
/// Nothing for an undefined tensor, too.
inline OptionalTensor if_defined(const OptionalTensor& tensor) {
  return tensor && tensor->defined() ? tensor : std::nullopt;
}

/// Lines of a layer's statistics for each chunk of rows. Behind the sample's G group means stand its G counts of
/// points.
enum StatisticsLine : int64_t { kMean, kRstd, kUnbiasedVar, kScale, kShift, kGroupMeans };

struct Normalized {
  at::Tensor y;
  at::Tensor statistics;  ///< (chunks, kGroupMeans + 2 groups, C): y = f(scale x + shift), rstd = 1 / sqrt(var + eps)
  at::Tensor sample;      ///< (points, C), x at the sample's points, in the lean mode, which keeps no x; else (0, C)
  at::Tensor
      mask;  ///< where f' is 1, if that cannot be found again from x: with a residual (tensor_layout.h); else empty

  using Tuple = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
  Tuple tuple() const { return {y, statistics, sample, mask}; }
};

/// What a training step moves towards the mean over its chunks of mean and unbiased variance: by `momentum`, or by 1 /
/// num_batches_tracked without it. With `first_is_batch` the first batch replaces them. None, or all three.
struct RunningStatistics {
  OptionalTensor mean, var, num_batches_tracked;
  std::optional<double> momentum;
  bool first_is_batch = false;
};

/// Normalizes x, one or more tensors as if concatenated along channels, by the statistics of the sample that (spec,
/// key) draw from it, adds the residual, applies the activation (kernels/activation.h). The key is {seed, layer, epoch,
/// step} in a tensor on the CPU, so that a compiled graph takes any. This process is `rank` of `ranks`; with `group`,
/// the name of a communicator, their samples are pooled (Sync), and each of them has to call this, without rows too.
/// `lean` and `keep` are for autograd: keep y instead of x where it can be; keep what backward needs, which autograd
/// asks for where there is one. The batch counts in the running statistics; without values it is counted alone.
Normalized sampled_batch_norm(at::TensorList x, const at::Tensor& weight, const at::Tensor& bias,
                              const at::Tensor& residual, const std::string& spec, const at::Tensor& key, double eps,
                              const std::string& activation, bool lean = false, const std::string& group = {},
                              int64_t rank = 0, int64_t ranks = 1, bool keep = false,
                              const RunningStatistics& running = {});

/// The numbers as a tensor on the CPU, as keys are.
at::Tensor key_tensor(at::IntArrayRef numbers);

struct Gradients {
  std::vector<at::Tensor> x;  ///< of each input, if they are wanted
  at::Tensor weight;          ///< (C), whether or not there is a weight
  at::Tensor bias;            ///< (C)
  at::Tensor residual;        ///< where there is a mask, else empty (the residual's gradient is dy then)

  using Tuple = std::tuple<std::vector<at::Tensor>, at::Tensor, at::Tensor, at::Tensor>;
  Tuple tuple() const { return {x, weight, bias, residual}; }
};

/// `saved` is what sampled_batch_norm returned for the same arguments; its y is not used. With `lean`, x is y. With
/// `group` the gradients of weight and bias are still those of this process's rows.
Gradients sampled_batch_norm_backward(const at::Tensor& dy, at::TensorList x, const at::Tensor& weight,
                                      const at::Tensor& bias, const Normalized& saved, const std::string& spec,
                                      const at::Tensor& key, const std::string& activation, bool lean = false,
                                      const std::string& group = {}, int64_t rank = 0, int64_t ranks = 1,
                                      bool want_dx = true);

/// Counts the batch and moves the running statistics. mean and var are (chunks, C).
void move_running_statistics(const RunningStatistics& running, const at::Tensor& mean, const at::Tensor& var);

}  // namespace samplenorm
