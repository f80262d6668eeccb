#pragma once

// The operators that samplenorm registers with PyTorch's dispatcher, and their C++ doors. All are pure functions but
// update_running_statistics_. They run on the CPU by the kernels, on other devices by ATen calls (aten.cc), on meta
// tensors by their shapes; sampled_batch_norm is differentiable, twice too.

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <tuple>

namespace samplenorm {

using OptionalTensor = std::optional<at::Tensor>;

/// Statistics have one line for each chunk (plan.h), in float32, or float64 for a float64 input.
struct Normalized {
  at::Tensor y;
  at::Tensor mean;          ///< (chunks, C)
  at::Tensor rstd;          ///< (chunks, C), 1 / sqrt(var + eps)
  at::Tensor unbiased_var;  ///< (chunks, C), for running statistics
  at::Tensor group_mean;    ///< (chunks, groups, C)
  at::Tensor sampled_x;  ///< the sample's points, copied, in the order of kernels::moments(); none of a chunk that is
                         ///< sampled whole
  at::Tensor mask;       ///< (N, bytes), ReLU's mask where it cannot be found again from x: with a residual; else empty

  using Tuple = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
  Tuple tuple() const { return {y, mean, rstd, unbiased_var, group_mean, sampled_x, mask}; }
};

/// Normalizes x, one or more tensors as if concatenated along channels, by the statistics of the sample that (spec,
/// key) draw from it, adds the residual, applies ReLU. `lean` is for autograd alone: it keeps y instead of x where it
/// can. The key is {seed, layer, epoch, step} in a tensor on the CPU, so that a compiled graph takes any. This process
/// is `rank` of `ranks`; with `group`, the name of a communicator, their samples are pooled (Sync), and each of them
/// has to call this, without rows too.
Normalized sampled_batch_norm(at::TensorList x, const at::Tensor& weight, const at::Tensor& bias,
                              const at::Tensor& residual, const std::string& spec, const at::Tensor& key, double eps,
                              bool relu, bool lean = false, const std::string& group = {}, int64_t rank = 0,
                              int64_t ranks = 1);

/// The numbers as a key.
at::Tensor key_tensor(at::IntArrayRef numbers);

struct Gradients {
  std::vector<at::Tensor> x;  ///< of each input
  at::Tensor weight;          ///< (C), whether or not there is a weight
  at::Tensor bias;            ///< (C)
  at::Tensor residual;        ///< like x where a mask is given, else empty (the residual's gradient is dy then)

  using Tuple = std::tuple<std::vector<at::Tensor>, at::Tensor, at::Tensor, at::Tensor>;
  Tuple tuple() const { return {x, weight, bias, residual}; }
};

/// `saved` is what sampled_batch_norm returned for the same arguments; its y is not used. With `lean`, x is y. With
/// `group` the gradients of weight and bias are still those of this process's rows.
Gradients sampled_batch_norm_backward(const at::Tensor& dy, at::TensorList x, const at::Tensor& weight,
                                      const at::Tensor& bias, const Normalized& saved, const std::string& spec,
                                      const at::Tensor& key, bool relu, bool lean = false,
                                      const std::string& group = {}, int64_t rank = 0, int64_t ranks = 1);

/// Counts the batch and moves the running statistics towards the mean over the chunks of (mean, var), by `momentum`, or
/// by 1 / num_batches_tracked without it. With `first_is_batch` the first batch replaces them.
void update_running_statistics_(at::Tensor& running_mean, at::Tensor& running_var, at::Tensor& num_batches_tracked,
                                const at::Tensor& mean, const at::Tensor& var, std::optional<double> momentum,
                                bool first_is_batch);

}  // namespace samplenorm
