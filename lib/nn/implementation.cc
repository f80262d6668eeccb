#include "nn/implementation.h"

#include <ATen/ATen.h>

#include <utility>

#include "nn/tensor_layout.h"

namespace samplenorm {
namespace {

constexpr const char* kName = "samplenorm::sampled_batch_norm";

void check_per_channel(const OptionalTensor& tensor, at::IntArrayRef sizes, const at::Tensor& x, const char* what) {
  if (!tensor || !tensor->defined()) return;
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

void check_sizes(const at::Tensor& tensor, at::IntArrayRef sizes, const at::Tensor& x, const char* what) {
  TORCH_CHECK(tensor.sizes() == sizes && tensor.scalar_type() == x.scalar_type() && tensor.device() == x.device(),
              kName, ": expected ", what, " like the input, ", sizes, " of ", x.scalar_type(), " on ", x.device(),
              ", got ", tensor.sizes(), " of ", tensor.scalar_type(), " on ", tensor.device());
}

}  // namespace

std::vector<int64_t> whole_sizes(at::TensorList x) {
  TORCH_CHECK_VALUE(!x.empty(), kName, ": expected one or more inputs, got none");
  std::vector<int64_t> sizes = x[0].sizes().vec();
  if (x.size() == 1) return sizes;
  TORCH_CHECK(sizes.size() >= 2, kName, ": expected inputs of 2 to 5 dimensions, got ", sizes.size());
  sizes[1] = 0;
  for (const at::Tensor& part : x) {
    std::vector<int64_t> others = part.sizes().vec();
    const int64_t channels = part.dim() >= 2 ? std::exchange(others[1], sizes[1]) : 0;
    TORCH_CHECK(others == sizes && part.scalar_type() == x[0].scalar_type() && part.device() == x[0].device(), kName,
                ": expected inputs that differ in their channels alone, got ", part.sizes(), " of ", part.scalar_type(),
                " on ", part.device(), " beside ", x[0].sizes(), " of ", x[0].scalar_type(), " on ", x[0].device());
    sizes[1] += channels;
  }
  return sizes;
}

void check_forward(const ForwardArguments& arguments) {
  const at::Tensor& x = arguments.x[0];
  check_input(x);
  check_per_channel(arguments.weight, arguments.sizes, x, "a weight");
  check_per_channel(arguments.bias, arguments.sizes, x, "a bias");
  if (arguments.residual && arguments.residual->defined()) {
    TORCH_CHECK(arguments.x.size() == 1, kName, ": expected one input with a residual, got ", arguments.x.size());
    check_sizes(*arguments.residual, arguments.sizes, x, "a residual");
  }
}

void check_backward(const BackwardArguments& arguments, const PlanSizes& plan) {
  const at::Tensor& x = arguments.x[0];
  const int64_t channels = arguments.sizes[1];
  check_input(x);
  check_sizes(arguments.dy, arguments.sizes, x, "a gradient");
  check_per_channel(arguments.weight, arguments.sizes, x, "a weight");
  check_per_channel(arguments.bias, arguments.sizes, x, "a bias");
  const auto check_saved = [&](const at::Tensor& saved, at::IntArrayRef sizes, at::ScalarType type, const char* what) {
    TORCH_CHECK(
        saved.sizes() == sizes && saved.scalar_type() == type && saved.is_contiguous() && saved.device() == x.device(),
        kName, ": expected forward's ", what, ", contiguous, ", sizes, " of ", type, " on ", x.device(), ", got ",
        saved.sizes(), " of ", saved.scalar_type(), " on ", saved.device());
  };
  const auto type = statistics_type(x);
  check_saved(arguments.mean, {plan.chunks, channels}, type, "mean");
  check_saved(arguments.rstd, {plan.chunks, channels}, type, "rstd");
  check_saved(arguments.group_mean, {plan.chunks, plan.groups, channels}, type, "group_mean");
  check_saved(arguments.sampled_x, {plan.room_for_copy * channels}, x.scalar_type(), "sampled_x");
  const bool has_mask = arguments.mask && arguments.mask->defined();
  if (has_mask) check_saved(*arguments.mask, mask_sizes(x), at::kByte, "mask");
  if (!arguments.lean) return;
  TORCH_CHECK(!has_mask && arguments.x.size() == 1, kName,
              ": expected one y and no mask in the lean mode, which cannot find x behind a residual");
  TORCH_CHECK(plan.room_for_copy > 0, kName, ": expected x itself, not y: the statistics are of all points");
}

KeyNumbers key_numbers(const at::Tensor& key, int64_t rank, int64_t ranks) {
  TORCH_CHECK_VALUE(key.dim() == 1 && key.size(0) == 4 && key.scalar_type() == at::kLong, kName,
                    ": expected a key of 4 numbers (seed, layer, epoch, step) in int64, got ", key.sizes(), " of ",
                    key.scalar_type());
  if (!key.has_storage() || !key.is_cpu()) {  // torch.func's tensors, which wrap others, are read by operators alone
    const auto number = [&](int64_t i) { return key.select(0, i).item<int64_t>(); };
    return {number(0), number(1), number(2), number(3), rank, ranks};
  }
  const at::Tensor dense = key.contiguous();
  const int64_t* numbers = dense.const_data_ptr<int64_t>();
  return {numbers[0], numbers[1], numbers[2], numbers[3], rank, ranks};
}

std::shared_ptr<Communicator> communicator_of(std::string_view group, const KeyNumbers& key) {
  if (group.empty()) return nullptr;
  auto communicator = find_communicator(std::string(group));
  const int64_t rank = key[4], ranks = key[5];
  TORCH_CHECK_VALUE(communicator->rank() == rank && communicator->size() == ranks, kName, ": expected rank ",
                    communicator->rank(), " of ", communicator->size(), ", as the group ", group, " has it, got ", rank,
                    " of ", ranks);
  return communicator;
}

at::ScalarType statistics_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

Normalized allocate_outputs(const ForwardArguments& arguments, const PlanSizes& plan) {
  const at::Tensor& x = arguments.x[0];
  const int64_t channels = arguments.sizes[1];
  const auto options = x.options().dtype(statistics_type(x));
  const bool empty = c10::multiply_integers(arguments.sizes) == 0;
  const auto statistics = [&](at::IntArrayRef sizes) {
    return empty ? at::zeros(sizes, options) : at::empty(sizes, options);
  };
  Normalized out;
  out.y = empty_dense_like(x, arguments.sizes);
  out.mean = statistics({plan.chunks, channels});
  out.rstd = statistics({plan.chunks, channels});
  out.unbiased_var = statistics({plan.chunks, channels});
  out.group_mean = statistics({plan.chunks, plan.groups, channels});
  out.sampled_x = at::empty({plan.room_for_copy * channels}, x.options());
  out.mask = at::empty(arguments.needs_mask() ? mask_sizes(x) : std::vector<int64_t>{0}, x.options().dtype(at::kByte));
  return out;
}

Normalized allocate_outputs(const ForwardArguments& arguments, const Plan& plan) {
  Normalized out = allocate_outputs(arguments, plan.sizes);
  const int64_t used = plan.copied_points * arguments.sizes[1];
  if (used < out.sampled_x.numel()) out.sampled_x.narrow(0, used, out.sampled_x.numel() - used).zero_();
  return out;
}

Gradients allocate_gradients(const BackwardArguments& arguments) {
  Gradients out;
  const bool empty = c10::multiply_integers(arguments.sizes) == 0;
  const auto per_channel = [&] {
    const at::IntArrayRef sizes = arguments.sizes[1];
    return empty ? at::zeros(sizes, arguments.mean.options()) : at::empty(sizes, arguments.mean.options());
  };
  const at::Tensor& first = arguments.x[0];
  for (const at::Tensor& x : arguments.x) out.x.push_back(empty_dense_like(first, x.sizes()));
  out.weight = per_channel();
  out.bias = per_channel();
  const bool has_mask = arguments.mask && arguments.mask->defined();
  out.residual = has_mask ? empty_dense_like(first) : at::empty({0}, first.options());
  return out;
}

Affine affine(const OptionalTensor& weight, const OptionalTensor& bias, const at::Tensor& mean,
              const at::Tensor& rstd) {
  const auto type = mean.scalar_type();
  Affine result;
  result.scale = weight && weight->defined() ? rstd * weight->to(type) : rstd;
  const at::Tensor centre = mean * result.scale;
  result.shift = bias && bias->defined() ? bias->to(type) - centre : -centre;
  return result;
}

}  // namespace samplenorm
