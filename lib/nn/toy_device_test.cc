// A kind of device is added by registering the six steps for it, and nothing else: the driver and autograd stay as they
// are. The device here is memory of the CPU under another name, on which libtorch's own operators run by the CPU's.

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdlib>

#include "nn/steps.h"
#include "nn/testing.h"

namespace samplenorm {
namespace {

constexpr auto kToy = c10::DeviceType::PrivateUse1;

struct ToyAllocator : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* memory = std::malloc(bytes);
    return {memory, memory, &std::free, at::Device(kToy, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t count) const override { std::memcpy(to, from, count); }
};

ToyAllocator toy_allocator;
constexpr c10::DispatchKeySet kToyKeys(c10::DispatchKey::PrivateUse1);

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, &toy_allocator, kToyKeys, c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(sizes, strides, &toy_allocator, kToyKeys, c10::dtype_or_default(type));
}

/// The same memory as a tensor on the CPU.
at::Tensor on_cpu(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_cpu()) return tensor;
  return at::from_blob(const_cast<void*>(tensor.const_data_ptr()), tensor.sizes(), tensor.strides(),
                       tensor.options().device(at::kCPU));
}
OptionalTensor on_cpu(const OptionalTensor& tensor) { return tensor ? OptionalTensor(on_cpu(*tensor)) : tensor; }
std::vector<at::Tensor> on_cpu(at::TensorList tensors) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& tensor : tensors) all.push_back(on_cpu(tensor));
  return all;
}
template <class T>
requires(!std::is_convertible_v<T, at::TensorList> &&
         !std::is_convertible_v<T, OptionalTensor>) const T& on_cpu(const T& other) {
  return other;
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  on_cpu(to).copy_(on_cpu(from));
  return to;
}

const at::Tensor& resize_toy(const at::Tensor& tensor, at::IntArrayRef sizes, std::optional<at::MemoryFormat>) {
  at::native::resize_impl_cpu_(tensor.unsafeGetTensorImpl(), sizes, std::nullopt);
  return tensor;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  return copy_from(from, resize_toy(to, from.sizes(), std::nullopt), false);
}

at::Tensor as_strided(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides,
                      std::optional<int64_t> offset) {
  return at::native::as_strided_tensorimpl(tensor, sizes, strides, offset);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("resize_", resize_toy);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("as_strided", as_strided);
  library.impl("view", at::native::view);
}
void by_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }
TORCH_LIBRARY_IMPL(_, PrivateUse1, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&by_cpu>()); }

// Autograd asks the device for its streams.
struct ToyGuard : c10::impl::NoOpDeviceGuardImpl<kToy> {
  at::Device getDevice() const override { return {kToy, 0}; }
  at::Device exchangeDevice(at::Device) const override { return {kToy, 0}; }
  c10::Stream getStream(at::Device device) const noexcept override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return stream; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, ToyGuard);
struct ToyHooks : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(at::DeviceIndex) const override { return true; }
};
const bool hooked = [] {
  static ToyHooks hooks;
  c10::register_privateuse1_backend("toy");
  at::RegisterPrivateUse1HooksInterface(&hooks);
  return true;
}();

// The six steps of the device: the CPU's on the same memory, counted.

std::vector<std::string> calls;

at::Tensor to_toy(const at::Tensor& tensor) { return tensor.to(at::Device(kToy, 0)); }
std::vector<at::Tensor> to_toy(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& tensor : tensors) all.push_back(to_toy(tensor));
  return all;
}
template <class... Tensors>
std::tuple<Tensors...> to_toy(const std::tuple<Tensors...>& results) {
  return std::apply([](const auto&... each) { return std::tuple<Tensors...>(to_toy(each)...); }, results);
}

#define TOY(step)                                          \
  [](auto... arguments) {                                  \
    calls.push_back(#step);                                \
    using Result = decltype(cpu_steps.step(arguments...)); \
    if constexpr (std::is_void_v<Result>) {                \
      cpu_steps.step(on_cpu(arguments)...);                \
    } else {                                               \
      return to_toy(cpu_steps.step(on_cpu(arguments)...)); \
    }                                                      \
  }
const Steps toy_steps = {TOY(moments), TOY(statistics), TOY(apply), TOY(backward), TOY(gradients), TOY(correct)};

struct Results {
  torch::Tensor y, dx, dweight, dresidual;
};

Results train(at::Device device) {
  torch::manual_seed(1);
  const auto on_device = [&](at::IntArrayRef sizes) { return torch::randn(sizes).to(device); };
  const torch::Tensor x = on_device({6, 5, 8, 8}).requires_grad_(), residual = on_device({6, 5, 8, 8}).requires_grad_();
  const torch::Tensor weight = on_device({5}).requires_grad_(), bias = on_device({5}), dy = on_device({6, 5, 8, 8});
  const torch::Tensor y =
      sampled_batch_norm({x}, weight, bias, residual, "LS-1/4;least=1", key_tensor({1, 2, 3, 4}), 1e-5, "leaky_relu").y;
  EXPECT_EQ(y.device().type(), device.type());
  const auto gradients = torch::autograd::grad({y}, {x, weight, residual}, {dy});
  return {y.detach().cpu(), gradients[0].cpu(), gradients[1].cpu(), gradients[2].cpu()};
}

void expect_same(const Results& actual, const Results& expected) {
  EXPECT_TRUE(testing::close(actual.y, expected.y, 1e-5, 1e-5));
  EXPECT_TRUE(testing::close(actual.dx, expected.dx, 1e-5, 1e-5));
  EXPECT_TRUE(testing::close(actual.dweight, expected.dweight, 1e-5, 1e-5));
  EXPECT_TRUE(testing::close(actual.dresidual, expected.dresidual, 1e-5, 1e-5));
}

TEST(ToyDevice, RunsByAtenCallsAsItIs) { expect_same(train(at::Device(kToy, 0)), train(at::kCPU)); }

TEST(ToyDevice, RunsByItsOwnStepsOnceTheyAreRegistered) {
  torch::Library library(torch::Library::IMPL, "samplenorm", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  library.impl("moments", toy_steps.moments);
  library.impl("statistics", toy_steps.statistics);
  library.impl("apply", toy_steps.apply);
  library.impl("backward", toy_steps.backward);
  library.impl("gradients", toy_steps.gradients);
  library.impl("correct", toy_steps.correct);
  calls.clear();
  expect_same(train(at::Device(kToy, 0)), train(at::kCPU));
  EXPECT_EQ(calls, (std::vector<std::string>{"moments", "statistics", "apply", "backward", "gradients", "correct"}));
}

}  // namespace
}  // namespace samplenorm
