#include "nn/checks.h"

#include <ATen/ATen.h>

#include <array>
#include <utility>

#include "nn/activation.h"
#include "nn/tensor_layout.h"

namespace samplenorm {
namespace {

constexpr const char* kName = "samplenorm::sampled_batch_norm";

void check_per_channel(const OptionalTensor& tensor, at::IntArrayRef sizes, const at::Tensor& x, const char* what) {
  if (!tensor) return;
  TORCH_CHECK(tensor->dim() == 1 && tensor->size(0) == sizes[1], kName, ": expected ", what, " of size [", sizes[1],
              "] for an input of size ", sizes, ", got ", tensor->sizes());
  TORCH_CHECK(tensor->device() == x.device(), kName, ": expected ", what, " on ", x.device(), ", got ",
              tensor->device());
  TORCH_CHECK(at::isFloatingType(tensor->scalar_type()), kName, ": expected a floating-point ", what, ", got ",
              tensor->scalar_type());
}

void check_input(const at::Tensor& x) {
  const auto type = x.scalar_type();
  TORCH_CHECK(type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || type == at::kHalf, kName,
              ": expected an input of float32, float64, bfloat16 or float16, got ", type);
}

void check_like_input(const at::Tensor& tensor, at::IntArrayRef sizes, const at::Tensor& x, const char* what) {
  TORCH_CHECK(tensor.sizes() == sizes && tensor.scalar_type() == x.scalar_type() && tensor.device() == x.device(),
              kName, ": expected ", what, " like the input, ", sizes, " of ", x.scalar_type(), " on ", x.device(),
              ", got ", tensor.sizes(), " of ", tensor.scalar_type(), " on ", tensor.device());
}

}  // namespace

DimVector whole_sizes(at::TensorList x) {
  TORCH_CHECK_VALUE(!x.empty(), kName, ": expected one or more inputs, got none");
  DimVector sizes(x[0].sizes());
  if (x.size() == 1) return sizes;
  TORCH_CHECK(sizes.size() >= 2, kName, ": expected inputs of 2 to 5 dimensions, got ", sizes.size());
  sizes[1] = 0;
  for (const at::Tensor& part : x) {
    DimVector others(part.sizes());
    const int64_t channels = part.dim() >= 2 ? std::exchange(others[1], sizes[1]) : 0;
    TORCH_CHECK(others == sizes && part.scalar_type() == x[0].scalar_type() && part.device() == x[0].device(), kName,
                ": expected inputs that differ in their channels alone, got ", part.sizes(), " of ", part.scalar_type(),
                " on ", part.device(), " beside ", x[0].sizes(), " of ", x[0].scalar_type(), " on ", x[0].device());
    sizes[1] += channels;
  }
  return sizes;
}

void check_forward(at::TensorList x, at::IntArrayRef sizes, const OptionalTensor& weight, const OptionalTensor& bias,
                   const OptionalTensor& residual, std::string_view activation, const OptionalTensor& running_mean,
                   const OptionalTensor& running_var) {
  check_input(x[0]);
  check_per_channel(weight, sizes, x[0], "a weight");
  check_per_channel(bias, sizes, x[0], "a bias");
  check_per_channel(running_mean, sizes, x[0], "a running mean");
  check_per_channel(running_var, sizes, x[0], "a running variance");
  const bool fuses_residual = activation_of(activation).piecewise_linear;
  if (!residual) return;
  TORCH_CHECK(x.size() == 1, kName, ": expected one input with a residual, got ", x.size());
  check_like_input(*residual, sizes, x[0], "a residual");
  TORCH_CHECK_VALUE(fuses_residual, kName, ": expected a piecewise linear activation after a residual, got ",
                    activation);
}

void check_backward(const at::Tensor& dy, at::TensorList x, at::IntArrayRef sizes, const Normalized& saved,
                    const PlanSizes& plan, std::string_view activation, bool lean) {
  const int64_t channels = sizes[1];
  check_input(x[0]);
  check_like_input(dy, sizes, x[0], "a gradient");
  const auto check_saved = [&](const at::Tensor& tensor, bool fits, at::ScalarType type, const char* what) {
    TORCH_CHECK(fits && tensor.scalar_type() == type && tensor.device() == x[0].device(), kName,
                ": expected forward's ", what, " of ", type, " on ", x[0].device(), ", got ", tensor.sizes(), " of ",
                tensor.scalar_type(), " on ", tensor.device());
  };
  const std::array lines = {plan.chunks, kGroupMeans + 2 * plan.groups, channels};
  const std::array points = {saved.sample.numel() == 0 && !lean ? 0 : plan.room, channels};
  check_saved(saved.statistics, saved.statistics.sizes() == at::IntArrayRef(lines), statistics_type(x[0]),
              "statistics");
  check_saved(saved.sample, saved.sample.sizes() == at::IntArrayRef(points), x[0].scalar_type(), "sample");
  const bool has_mask = saved.mask.defined() && saved.mask.dim() != 1;
  const auto is_mask = [&](bool channels_last) {
    return saved.mask.sizes() == at::IntArrayRef(mask_sizes(layout_of(sizes, channels_last)));
  };
  if (saved.mask.defined())
    check_saved(saved.mask, (saved.mask.dim() == 1 && saved.mask.numel() == 0) || is_mask(false) || is_mask(true),
                at::kByte, "mask");
  const Activation& function = activation_of(activation);
  TORCH_CHECK(!has_mask || function.piecewise_linear, kName, ": expected no mask with ", activation);
  if (!lean) return;
  TORCH_CHECK(!has_mask && x.size() == 1 && function.kind != Activation::Kind::kOther, kName,
              ": expected one y, no mask, and identity, relu or relu6 in the lean mode, which has to find xhat from y");
  TORCH_CHECK(plan.room > 0, kName, ": expected x itself, not y: the statistics are of all points");
}

Key key_of(const at::Tensor& key, int64_t rank, int64_t ranks) {
  TORCH_CHECK_VALUE(rank >= 0 && rank < ranks, kName, ": expected a rank from 0 to ranks - 1, got rank ", rank, " of ",
                    ranks);
  TORCH_CHECK_VALUE(key.dim() == 1 && key.size(0) == 4 && key.scalar_type() == at::kLong && key.is_cpu(), kName,
                    ": expected a key of 4 numbers (seed, layer, epoch, step) in int64 on the CPU, got ", key.sizes(),
                    " of ", key.scalar_type(), " on ", key.device());
  const auto number = [&](int64_t i) {  // torch.func's tensors, which wrap others, are read by operators alone
    return key.has_storage() ? key.const_data_ptr<int64_t>()[i * key.stride(0)] : key.select(0, i).item<int64_t>();
  };
  const int64_t epoch = number(2), step = number(3);
  const auto word = [](int64_t value) { return static_cast<uint64_t>(value); };
  return {.seed = word(number(0)),
          .layer = word(number(1)),
          .epoch = word(epoch < 0 ? step / kStepsOfADraw : epoch),
          .step = word(step),
          .rank = word(rank),
          .ranks = word(ranks)};
}

std::shared_ptr<Communicator> communicator_of(std::string_view group, int64_t rank, int64_t ranks) {
  if (group.empty()) return nullptr;
  auto communicator = find_communicator(std::string(group));
  TORCH_CHECK_VALUE(communicator->rank() == rank && communicator->size() == ranks, kName, ": expected rank ",
                    communicator->rank(), " of ", communicator->size(), ", as the group ", group, " has it, got ", rank,
                    " of ", ranks);
  return communicator;
}

at::ScalarType statistics_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace samplenorm
