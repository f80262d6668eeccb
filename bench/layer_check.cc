#include "bench/layer_check.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/contender.h"
#include "bench/onednn.h"
#include "bench/plain_norm.h"
#include "models/norm_by_name.h"
#include "samplenorm/error.h"

namespace samplenorm::bench {
namespace {

// Sums over a hundred thousand points differ by their order, so tolerances are against the largest value.
constexpr double kTolerance = 1e-4;
constexpr double kLooseTolerance = 1e-3;

/// What is compared with what, for the message.
struct Comparison {
  std::string who;       ///< "LS-1/64 (raw), BN+ReLU on (32, 64, 56, 56) channels_last"
  std::string expected;  ///< "libtorch's"
  double tolerance;
};

void compare(const Comparison& comparison, const char* what, const torch::Tensor& actual,
             const torch::Tensor& expected) {
  if (!expected.defined()) return;
  const double largest = expected.abs().max().item<double>();
  const double difference = (actual - expected).abs().max().item<double>();
  if (difference <= comparison.tolerance * largest) return;  // a NaN is not
  throw Error(fmt::format("{}: expected {} {}, found a difference of {:.3g} (largest value {:.3g})", comparison.who,
                          comparison.expected, what, difference, largest));
}

void compare(const Comparison& comparison, const LayerAnswer& actual, const LayerAnswer& expected) {
  compare(comparison, "output", actual.y, expected.y);
  compare(comparison, "gradient of the input", actual.dx, expected.dx);
  compare(comparison, "gradient of the weight", actual.dweight, expected.dweight);
  compare(comparison, "gradient of the bias", actual.dbias, expected.dbias);
  compare(comparison, "gradient of the residual", actual.dresidual, expected.dresidual);
}

void expect_format(const Comparison& comparison, const LayerAnswer& answer, torch::MemoryFormat format) {
  if (answer.y.is_contiguous(format) && answer.dx.is_contiguous(format)) return;
  throw Error(fmt::format("{}: expected results in the input's memory format, found another", comparison.who));
}

LayerAnswer answer_of(Contender& contender) {
  contender.forward();
  contender.backward();
  auto answer = contender.answer();
  contender.release();
  return answer;
}

torch::Tensor buffer(const Norm& layer, const std::string& name) {
  for (const auto& found : layer.named_buffers()) {
    if (found.key().ends_with(name)) return found.value();
  }
  throw Error(fmt::format("expected a norm with a buffer {}, found none", name));
}

/// libtorch's answer and running statistics, to a gradient without points at the kink.
struct TorchAnswer {
  LayerTensors tensors;
  std::shared_ptr<Norm> layer;
  LayerAnswer answer;
};

TorchAnswer torch_answer(const LayerCase& layer_case, const LayerTensors& tensors) {
  TorchAnswer torchs{
      .tensors = tensors, .layer = make_layer(models::kTorchBatchNorm, tensors, layer_case.fusion), .answer = {}};
  if (has_relu(layer_case.fusion)) {
    const auto x = tensors.x.detach();
    auto z = torch::batch_norm(x, tensors.weight, tensors.bias, {}, {}, /*training=*/true, /*momentum=*/0, /*eps=*/1e-5,
                               /*cudnn_enabled=*/false);
    if (tensors.residual.defined()) z += tensors.residual.detach();
    torchs.tensors.dy = zero_at_kink(tensors.dy, z);
  }
  torchs.answer = answer_of(*autograd_contender(torchs.layer, torchs.tensors));
  return torchs;
}

/// Checks both ways to the norm. `tensors` have the gradient that `expected` is for.
void check_paths(const std::shared_ptr<Norm>& layer, const std::string& norm, const LayerCase& layer_case,
                 const LayerTensors& tensors, const std::string& whose, const LayerAnswer& expected) {
  // The raw one first: it copies the key of the draw, which a training forward counts up.
  for (const char* path : {"raw", "autograd"}) {
    const Comparison comparison{fmt::format("{} ({}), {}", norm, path, describe(layer_case)), whose, kTolerance};
    const auto contender =
        path == std::string("raw") ? raw_contender(layer, tensors) : autograd_contender(layer, tensors);
    const auto answer = answer_of(*contender);
    compare(comparison, answer, expected);
    expect_format(comparison, answer, layer_case.format);
  }
}

void check_exact(const std::string& norm, const LayerCase& layer_case, const LayerTensors& tensors) {
  const auto torchs = torch_answer(layer_case, tensors);
  const auto layer = make_layer(norm, tensors, layer_case.fusion);
  check_paths(layer, norm, layer_case, torchs.tensors, "libtorch's", torchs.answer);
  const Comparison comparison{fmt::format("{}, {}", norm, describe(layer_case)), "libtorch's", kTolerance};
  for (const char* name : {"running_mean", "running_var"}) {
    compare(comparison, name, buffer(*layer, name), buffer(*torchs.layer, name));
  }
}

}  // namespace

void check_norm(const std::string& norm, const LayerCase& layer_case, const LayerTensors& tensors) {
  const auto layer = make_layer(norm, tensors, layer_case.fusion);
  const auto* sampled = dynamic_cast<const SampledBatchNormImpl*>(layer.get());
  if (sampled == nullptr || sampled->spec().stat_batch > 0) return;
  if (norm == "BN") return check_exact(norm, layer_case, tensors);
  const auto plain = plain_norm(tensors, sampled->sample(layer_case.sizes).front(), sampled->options.eps(),
                                has_relu(layer_case.fusion));
  LayerTensors with_plain_dy = tensors;
  with_plain_dy.dy = plain.dy;
  check_paths(layer, norm, layer_case, with_plain_dy, "the plain computation's", plain.answer);
}

void check_onednn(const LayerCase& layer_case, const LayerTensors& tensors) {
  const auto torchs = torch_answer(layer_case, tensors);
  for (const auto& onednn : onednn_contenders(torchs.tensors, layer_case.fusion)) {
    const Comparison comparison{fmt::format("oneDNN ({}), {}", onednn.format, describe(layer_case)), "libtorch's",
                                kLooseTolerance};
    compare(comparison, answer_of(*onednn.contender), torchs.answer);
  }
}

}  // namespace samplenorm::bench
