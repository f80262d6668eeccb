#include "bench/profile_layer.h"

#include <torch/torch.h>

#include "models/norm_by_name.h"

namespace samplenorm::bench {
namespace {

/// In units of the layer's input.
struct Passes {
  double forward = 0;
  double backward = 0;
};

/// What stands after the normalization, in the layer that is counted.
struct Tail {
  bool concatenated, adds, activated;
};

/// Each operation by itself, the addition and the activation in place.
Passes separate_passes(Passes norm, const Tail& tail) {
  if (tail.concatenated) norm.forward += 2;
  if (tail.adds) norm.forward += 3;  // its gradient is handed on as it is
  if (tail.activated) {
    norm.forward += 2;
    norm.backward += 3;
  }
  return norm;
}

/// DESIGN, section 4: the sample's passes read it and write its copy, then read the copy and update dx. With all points
/// there is no copy, and backward needs the sums before it can begin with dx.
Passes fused_passes(double sampled, const Tail& tail, const std::string& activation) {
  Passes passes = sampled < 1 ? Passes{2 + 2 * sampled, 3 + 3 * sampled} : Passes{3, 5};
  if (!tail.adds) return passes;
  passes.forward += 1;
  if (!tail.activated) return passes;
  const double mask = (activation == "relu6" ? 2 : 1) / 32.0;  // bits a point
  passes.forward += mask;
  passes.backward += 1 + mask;  // the residual's gradient
  return passes;
}

std::optional<Passes> passes_of(const NetworkLayer& layer, const std::string& activation, const std::string& norm,
                                double sampled) {
  const Tail tail{layer.parts.size() > 1, has_residual(layer.fusion), activation != "identity"};
  // Libtorch reads x for the mean, for the variance and to normalize; backward reads dy and x for its sums, and again.
  if (norm == models::kTorchBatchNorm) return separate_passes({4, 5}, tail);
  if (norm == "none") return separate_passes({0, 0}, tail);
  const auto made = models::norm_by_name(norm, layer.sizes[1]);
  const auto* sampling = dynamic_cast<const SampledBatchNormImpl*>(made.get());
  if (sampling == nullptr || sampling->spec().stat_batch > 0) return std::nullopt;
  return fused_passes(sampled, tail, activation);
}

}  // namespace

std::map<std::string, std::string> activations_of(const StepCase& step) {
  std::map<std::string, std::string> activations;
  const auto network = models::make_model(step.model, {.norm = "none", .channels = step.images.size(1)});
  for (const auto& module : network->named_modules())
    if (const auto* norm = dynamic_cast<const Norm*>(module.value().get()))
      activations[module.key()] = norm->options.activation();
  return activations;
}

std::string fusion_name(Fusion fusion, const std::string& activation) {
  std::string name = has_residual(fusion) ? "BN+add" : "BN";
  if (activation == "identity") return name;
  return name + "+" + (activation == "relu" ? "ReLU" : activation == "relu6" ? "ReLU6" : activation);
}

std::unique_ptr<Contender> contender_with(const NetworkLayer& layer, const std::string& activation,
                                          const StepCase& step, const std::string& norm) {
  const bool fusion_tells = activation == (has_relu(layer.fusion) ? "relu" : "identity");
  if (fusion_tells || layer.parts.size() > 1) return layer_contender(layer, step, norm);
  const auto tensors = make_tensors({sizes_with(norm, layer, step), torch::MemoryFormat::ChannelsLast, layer.fusion});
  const auto made = make_layer(norm, tensors, layer.fusion);
  made->options.activation(activation);
  return autograd_contender(made, tensors);
}

std::optional<LayerBytes> bytes_of(const NetworkLayer& layer, const std::string& activation, const StepCase& step,
                                   const std::string& norm, double sampled) {
  const auto passes = passes_of(layer, activation, norm, sampled);
  if (!passes) return std::nullopt;
  const auto size =
      static_cast<double>(sizeof(float)) * static_cast<double>(c10::multiply_integers(sizes_with(norm, layer, step)));
  return LayerBytes{size * passes->forward, size * passes->backward};
}

}  // namespace samplenorm::bench
