#include "cli/learner.h"

#include <torch/torch.h>

#include "bench/stopwatch.h"
#include "samplenorm/norm.h"

namespace samplenorm::cli {
namespace {

constexpr double kMomentum = 0.9;
constexpr double kWeightDecay = 5e-4;

void to_channels_last(torch::nn::Module& model) {
  for (auto& parameter : model.parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
  }
}

}  // namespace

Learner::Learner(const std::string& norm, int64_t classes, uint64_t seed, const torch::Tensor& typical_images)
    : norm_name_(norm) {
  torch::manual_seed(seed);
  network_ = register_module(
      "network", models::SmallConvNet(models::ModelOptions{.norm = norm, .classes = classes, .channels = 1}));
  to_channels_last(*network_);
  add_virtual_batch(typical_images);
  optimizer_ = std::make_unique<torch::optim::SGD>(
      network_->parameters(), torch::optim::SGDOptions(/*lr=*/0).momentum(kMomentum).weight_decay(kWeightDecay));
}

void Learner::add_virtual_batch(const torch::Tensor& typical_images) {
  const Norm& norm = network_->first_norm();
  if (norm.virtual_rows() == 0) return;
  const auto* sampled = dynamic_cast<const SampledBatchNormImpl*>(&norm);
  if (sampled == nullptr) {  // virtual batch normalization: real rows, always the same
    const auto reference = typical_images.slice(0, 0, norm.virtual_rows()).clone();
    virtual_batch_ = register_module("virtual_batch", VirtualBatch(reference));
    return;
  }
  const bool spectrum = sampled->spec().field == Field::kSpectrum;
  DatasetStatistics statistics(typical_images.size(1), spectrum);
  statistics->add(typical_images);
  VirtualBatchOptions options(statistics->mean(), statistics->std(), norm.virtual_rows());
  options.stat_batch(sampled->spec().stat_batch);
  if (spectrum) options.spectrum(statistics->spectrum());
  virtual_batch_ = register_module("virtual_batch", VirtualBatch(options));
}

torch::Tensor Learner::forward(const torch::Tensor& images) {
  return virtual_batch_ ? virtual_batch_->forward(images, network_) : network_(images);
}

void Learner::step(const torch::Tensor& images, const torch::Tensor& labels, double rate) {
  const bench::Stopwatch watch;
  train();
  static_cast<torch::optim::SGDOptions&>(optimizer_->param_groups().front().options()).lr(rate);
  optimizer_->zero_grad();
  const auto loss = torch::nn::functional::cross_entropy(forward(images), labels);
  loss.backward();
  optimizer_->step();
  losses_.push_back(loss.item<double>());
  step_seconds_.push_back(watch.seconds());
}

double Learner::accuracy(const torch::Tensor& images, const torch::Tensor& labels) {
  constexpr int64_t kBatch = 500;
  const torch::NoGradGuard no_gradients;
  eval();
  int64_t right = 0;
  for (int64_t begin = 0; begin < images.size(0); begin += kBatch) {
    const auto part = torch::indexing::Slice(begin, begin + kBatch);
    right += forward(images.index({part})).argmax(1).eq(labels.index({part})).sum().item<int64_t>();
  }
  return static_cast<double>(right) / static_cast<double>(images.size(0));
}

}  // namespace samplenorm::cli
