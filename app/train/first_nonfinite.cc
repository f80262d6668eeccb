// libtorch's modules have no hooks. But every operator can be observed, and the parameters that it gets tell its layer.

#include "train/first_nonfinite.h"

#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <map>

namespace samplenorm::train {
namespace {

bool is_finite(const torch::Tensor& tensor) {
  return !tensor.defined() || !tensor.is_floating_point() || torch::isfinite(tensor).all().item<bool>();
}

struct Observer {
  std::map<const c10::TensorImpl*, std::string> layer_of;  // by parameter
  std::string layer = "the input";
  int depth = 0;  // of operators within operators; what they pass to each other may not be filled yet
  std::optional<std::string> found;

  void begin(const at::RecordFunction& operation) {
    ++depth;
    for (const c10::IValue& input : operation.inputs()) {
      if (!input.isTensor()) continue;
      const auto known = layer_of.find(input.toTensor().unsafeGetTensorImpl());
      if (known != layer_of.end()) layer = known->second;
    }
  }

  void end(const at::RecordFunction& operation) {
    if (--depth > 0 || found) return;
    const at::DisableRecordFunctionGuard not_our_own_operators;
    for (const c10::IValue& output : operation.outputs())
      if (output.isTensor() && !is_finite(output.toTensor())) found = fmt::format("{} ({})", layer, operation.name());
  }
};

thread_local Observer* observer = nullptr;

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& operation) {
  if (observer != nullptr) observer->begin(operation);
  return nullptr;
}

void on_end(const at::RecordFunction& operation, at::ObserverContext*) {
  if (observer != nullptr) observer->end(operation);
}

}  // namespace

std::optional<std::string> first_nonfinite(const torch::nn::Module& model, const std::function<void()>& forward) {
  const torch::NoGradGuard no_gradients;
  Observer watching;
  for (const auto& item : model.named_parameters()) {
    const std::string& name = item.key();
    watching.layer_of[item.value().unsafeGetTensorImpl()] = name.substr(0, std::min(name.rfind('.'), name.size()));
  }
  observer = &watching;
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(on_begin, on_end)
                                                     .needsInputs(true)
                                                     .needsOutputs(true)
                                                     .scopes({at::RecordScope::FUNCTION}));
  try {
    forward();
  } catch (...) {
    at::removeCallback(handle);
    observer = nullptr;
    throw;
  }
  at::removeCallback(handle);
  observer = nullptr;
  return watching.found;
}

std::optional<std::string> first_nonfinite_parameter(const torch::nn::Module& model) {
  for (const auto& item : model.named_parameters())
    if (!is_finite(item.value())) return item.key();
  return {};
}

}  // namespace samplenorm::train
