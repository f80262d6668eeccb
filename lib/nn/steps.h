#pragma once

// The six steps of a layer, each an operator registered with PyTorch's dispatcher: on the CPU by the kernels, on other
// devices by ATen calls unless somebody registers better ones, on meta tensors by shapes. driver.h sequences them. To
// serve a new kind of device, register these six.
//
// x is one or more tensors that count as concatenated along channels, N x C x ... in all. K chunks of rows are
// normalized apart from each other: rows [rows[k], rows[k + 1]). A sample has G groups in each chunk, with counts[k * G
// + g] points; `points` are the numbers of all of them in this order, row * S + place in the map of S points, or empty:
// then each chunk is its own sample, whole. Statistics are float32, or float64 for float64 activations. What is summed
// up may come in B blocks, as the device divides its work; the step that follows adds them up.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <string_view>
#include <tuple>
#include <vector>

#include "nn/operators.h"

namespace samplenorm {

struct Steps {
  /// (B, K, G, 3, C): count, mean and deviation, sqrt(M2 / count), of each block of each group, 0 where it has no
  /// points (M2 itself overflows float32 early); and the sample's x, (room, C), in the order of `points`, the rest 0.
  /// Room 0: nothing is copied.
  std::tuple<at::Tensor, at::Tensor> (*moments)(at::TensorList x, const at::Tensor& points, at::IntArrayRef rows,
                                                at::IntArrayRef counts, int64_t room);

  /// (K, 5 + 2 G, C), the lines of Normalized::statistics; `weights` are those of the groups. Where there are running
  /// statistics, they are moved, and the batch is counted (RunningStatistics).
  at::Tensor (*statistics)(const at::Tensor& moments, at::ArrayRef<double> weights, const OptionalTensor& weight,
                           const OptionalTensor& bias, double eps, const OptionalTensor& running_mean,
                           const OptionalTensor& running_var, const OptionalTensor& num_batches_tracked,
                           std::optional<double> momentum, bool first_is_batch);

  /// y = f(scale x + shift + residual), and with keep_mask the bits that say where f' is 1 (tensor_layout.h).
  std::tuple<at::Tensor, at::Tensor> (*apply)(at::TensorList x, const OptionalTensor& residual,
                                              const at::Tensor& statistics, at::IntArrayRef rows,
                                              std::string_view activation, bool keep_mask);

  /// dx = scale dz, if wanted, dz itself where there is a mask (else empty), and (B, K, 2, C): D = sum dz, P = sum dz
  /// xhat. With a correction (of one group, all points) the finished dx, and no sums. With `lean` x is y, and the
  /// statistics are such that xhat = (y - mean) rstd.
  std::tuple<std::vector<at::Tensor>, at::Tensor, at::Tensor> (*backward)(
      const at::Tensor& dy, at::TensorList x, const OptionalTensor& mask, const at::Tensor& statistics,
      const OptionalTensor& correction, at::IntArrayRef rows, std::string_view activation, bool lean, bool want_dx);

  /// dweight and dbias from this process's sums, (C), and from those of all processes the correction, (K, G, 2, C): its
  /// offset and its slope.
  std::tuple<at::Tensor, at::Tensor, at::Tensor> (*gradients)(const at::Tensor& sums, const at::Tensor& pooled_sums,
                                                              const at::Tensor& statistics,
                                                              at::ArrayRef<double> weights);

  /// dx -= offset + slope (x - mean of the group) at the sample's points. x is read there, unless there is a copy of
  /// the sample; with a copy x may be anything.
  void (*correct)(at::TensorList dx, at::TensorList x, const at::Tensor& sample, const at::Tensor& statistics,
                  const at::Tensor& correction, const at::Tensor& points, at::IntArrayRef rows, at::IntArrayRef counts);
};

/// By the kernels, for dense tensors on the CPU.
extern const Steps cpu_steps;
/// By ATen calls: the definition that others are tested against. They can be differentiated, but for apply.
extern const Steps aten_steps;
/// Results of the right shapes and types, with no values.
extern const Steps meta_steps;
/// Those that are registered for the device of their arguments.
extern const Steps registered_steps;

/// The moments of each group as a whole: B = 1.
at::Tensor one_block(const at::Tensor& moments);

/// An operator to call, by its name.
template <class Function>
auto registered(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Function>();
}

}  // namespace samplenorm
