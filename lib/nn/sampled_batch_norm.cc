#include <torch/torch.h>

#include <atomic>

#include "nn/activation.h"
#include "nn/checks.h"
#include "nn/few_points.h"
#include "nn/operators.h"
#include "nn/plan.h"
#include "samplenorm/norm.h"

namespace samplenorm {
namespace {

uint64_t next_layer_number() {
  static std::atomic<uint64_t> next{0};
  return next++;
}

}  // namespace

void Norm::pretty_print(std::ostream& stream) const {
  std::string type = name();  // samplenorm::SampledBatchNorm2dImpl
  type.erase(0, type.rfind(':') + 1);
  if (type.ends_with("Impl")) type.resize(type.size() - 4);
  stream << std::boolalpha << type << "(" << options.num_features() << ", spec=" << options.spec()
         << ", eps=" << options.eps() << ", momentum=" << (options.momentum() ? c10::str(*options.momentum()) : "None")
         << ", affine=" << options.affine() << ", track_running_stats=" << options.track_running_stats()
         << ", activation=" << options.activation() << ")";
}

SampledBatchNormImpl::SampledBatchNormImpl(const NormOptions& options_)
    : Norm(options_), spec_(parse(options_.spec())) {
  activation_of(options.activation());  // throws for an unknown one
  key.layer = next_layer_number();
  const auto parameter = [&](const char* name) {
    return register_parameter(name, options.affine() ? torch::empty({options.num_features()}) : torch::Tensor(),
                              options.affine());
  };
  weight = parameter("weight");
  bias = parameter("bias");
  const bool tracks = options.track_running_stats();
  running_mean = register_buffer("running_mean", tracks ? torch::zeros({options.num_features()}) : torch::Tensor());
  running_var = register_buffer("running_var", tracks ? torch::ones({options.num_features()}) : torch::Tensor());
  num_batches_tracked =
      register_buffer("num_batches_tracked", tracks ? torch::tensor(0, torch::kLong) : torch::Tensor());
  few_points = std::make_shared<FewPoints>();
  SampledBatchNormImpl::reset();
}

void SampledBatchNormImpl::reset() {
  reset_running_stats();
  if (!options.affine()) return;
  torch::nn::init::ones_(weight);
  torch::nn::init::zeros_(bias);
}

void SampledBatchNormImpl::reset_running_stats() {
  if (!options.track_running_stats()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

void SampledBatchNormImpl::check_input_dim(const torch::Tensor& x) const {
  TORCH_CHECK(x.dim() >= 2 && x.dim() <= 5, "expected 2D to 5D input (got ", x.dim(), "D input)");
}

torch::Tensor SampledBatchNormImpl::forward(const torch::Tensor& x, const torch::Tensor& residual) {
  check_input_dim(x);
  TORCH_CHECK(x.size(1) == options.num_features(), name(), ": expected ", options.num_features(),
              " channels, got input size ", x.sizes());
  return is_training() ? train_on(x, residual) : evaluate(x, residual);
}

torch::Tensor SampledBatchNormImpl::forward_concatenated(torch::TensorList inputs) {
  int64_t channels = 0;
  for (const torch::Tensor& x : inputs) {
    check_input_dim(x);
    channels += x.size(1);
  }
  TORCH_CHECK(channels == options.num_features(), name(), ": expected ", options.num_features(),
              " channels in all inputs together, got ", channels);
  return is_training() ? train_on(inputs, {}) : evaluate(torch::cat(inputs, 1), {});
}

torch::Tensor SampledBatchNormImpl::train_on(torch::TensorList x, const torch::Tensor& residual) {
  const bool sync = !place.group.empty();
  const torch::Tensor numbers = key_tensor({static_cast<int64_t>(key.seed), static_cast<int64_t>(key.layer),
                                            static_cast<int64_t>(key.epoch), static_cast<int64_t>(key.step)});
  // A residual is fused with the activations that it can be fused with.
  const bool fused = !residual.defined() || activation_of(options.activation()).piecewise_linear;
  const RunningStatistics running = {if_defined(running_mean), if_defined(running_var), if_defined(num_batches_tracked),
                                     spec_.decay ? spec_.decay : options.momentum(), spec_.first == First::kBatch};
  const Normalized out =
      sampled_batch_norm(x, weight, bias, fused ? residual : torch::Tensor(), options.spec(), numbers, options.eps(),
                         fused ? options.activation() : "identity", options.lean(), place.group, place.rank,
                         place.ranks, /*keep=*/false, running);
  if (few_points && out.y.numel() > 0) {
    const auto plan = find_plan(whole_sizes(x), options.spec(), key_of(numbers, place.rank, place.ranks), sync);
    const auto fewest = fewest_points(*plan, sync ? place.ranks : 1);
    if (few_points->watch->report(few_points->layer, options.spec(), fewest)) few_points.reset();
  }
  ++key.step;
  return fused ? out.y : finish(out.y, residual, options.activation());
}

torch::Tensor SampledBatchNormImpl::evaluate(const torch::Tensor& x, const torch::Tensor& residual) const {
  const bool by_batch = !running_mean.defined();
  return finish(torch::batch_norm(x, weight, bias, running_mean, running_var, by_batch, 0, options.eps(),
                                  torch::globalContext().userEnabledCuDNN()),
                residual, options.activation());
}

std::vector<Sample> SampledBatchNormImpl::sample(torch::IntArrayRef sizes) const {
  std::vector<Sample> samples;
  Key placed = key;
  placed.rank = static_cast<uint64_t>(place.rank);
  placed.ranks = static_cast<uint64_t>(place.ranks);
  for (Chunk& chunk : draw_chunks(sizes, spec_, placed, !place.group.empty()))
    samples.push_back(std::move(chunk.sample));
  return samples;
}

std::shared_ptr<torch::nn::Module> SampledBatchNormImpl::clone(const std::optional<torch::Device>& device) const {
  torch::NoGradGuard no_grad;
  std::shared_ptr<SampledBatchNormImpl> copy = fresh();
  copy->key = key;
  copy->place = place;
  copy->few_points = few_points;
  const auto copy_all = [&](const auto& from, const auto& to) {
    for (const auto& item : from) {
      if (!item.value().defined()) continue;
      const torch::Tensor value = item.value().clone();
      to[item.key()].set_data(device ? value.to(*device) : value);
    }
  };
  copy_all(named_parameters(), copy->named_parameters());
  copy_all(named_buffers(), copy->named_buffers());
  for (const auto& item : named_parameters())
    copy->named_parameters()[item.key()].set_requires_grad(item.value().requires_grad());
  copy->train(is_training());
  return copy;
}

void SampledBatchNormImpl::clone_(torch::nn::Module& other, const std::optional<torch::Device>& device) {
  *this = *std::dynamic_pointer_cast<SampledBatchNormImpl>(other.clone(device));
}

std::shared_ptr<SampledBatchNormImpl> SampledBatchNormImpl::fresh() const {
  return std::make_shared<SampledBatchNormImpl>(options);
}

#define DEFINE(D, accepted, words)                                                  \
  void SampledBatchNorm##D##dImpl::check_input_dim(const torch::Tensor& x) const {  \
    TORCH_CHECK(accepted, "expected " words " input (got ", x.dim(), "D input)");   \
  }                                                                                 \
  std::shared_ptr<SampledBatchNormImpl> SampledBatchNorm##D##dImpl::fresh() const { \
    return std::make_shared<SampledBatchNorm##D##dImpl>(options);                   \
  }
DEFINE(1, x.dim() == 2 || x.dim() == 3, "2D or 3D")
DEFINE(2, x.dim() == 4, "4D")
DEFINE(3, x.dim() == 5, "5D")
#undef DEFINE

}  // namespace samplenorm
