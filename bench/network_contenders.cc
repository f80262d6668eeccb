#include "bench/network_contenders.h"

#include <torch/torch.h>

#include "models/norm_by_name.h"
#include "samplenorm/error.h"

namespace samplenorm::bench {
namespace {

/// What puts the rows before a batch that the norm expects there; empty where it expects none.
VirtualBatch virtual_batch_for(const Norm& norm, const torch::Tensor& images) {
  const int64_t rows = norm.virtual_rows();
  if (rows == 0) return VirtualBatch(nullptr);
  const int64_t channels = images.size(1);
  const auto* sampled = dynamic_cast<const SampledBatchNormImpl*>(&norm);
  if (sampled == nullptr) return VirtualBatch(torch::randn({rows, channels, images.size(2), images.size(3)}));
  return VirtualBatch(VirtualBatchOptions(torch::zeros({channels}), torch::ones({channels}), rows)
                          .stat_batch(sampled->spec().stat_batch)
                          .nodes(sampled->spec().nodes));
}

/// A norm over several inputs.
class ConcatenatedContender : public Contender {
 public:
  ConcatenatedContender(std::shared_ptr<Norm> layer, const std::vector<int64_t>& parts, const LayerTensors& tensors)
      : layer_(std::move(layer)), dy_(tensors.dy) {
    for (const auto& part : tensors.x.detach().split_with_sizes(parts, 1))
      parts_.push_back(part.contiguous(torch::MemoryFormat::ChannelsLast).requires_grad_());
    inputs_ = parts_;
    for (const auto& parameter : layer_->parameters()) inputs_.push_back(parameter);
  }

  void forward() override { y_ = models::forward_concatenated(*layer_, parts_); }
  void backward() override { gradients_ = torch::autograd::grad({y_}, inputs_, {dy_}); }
  LayerAnswer answer() override {
    const auto dx = torch::cat(std::vector(gradients_.begin(), gradients_.begin() + std::ssize(parts_)), 1);
    return {.y = y_, .dx = dx, .dweight = {}, .dbias = {}, .dresidual = {}};
  }
  void release() override {
    y_.reset();
    gradients_.clear();
  }

 private:
  std::shared_ptr<Norm> layer_;
  torch::Tensor dy_;
  std::vector<torch::Tensor> parts_;
  torch::autograd::variable_list inputs_;
  torch::Tensor y_;
  torch::autograd::variable_list gradients_;
};

class NetworkStep : public StepContender {
 public:
  NetworkStep(const StepCase& step, const std::string& norm) : step_(step) {
    network_ = make_network(step, norm);
    virtual_batch_ = virtual_batch_of(*network_, step.images);
    optimizer_ = std::make_unique<torch::optim::SGD>(
        network_->parameters(), torch::optim::SGDOptions(/*lr=*/0).momentum(0.9).weight_decay(1e-4));
  }

  void forward() override {
    optimizer_->zero_grad();
    const auto network = [this](const torch::Tensor& x) { return network_->forward(x); };
    const auto logits = virtual_batch_ ? virtual_batch_->forward(step_.images, network) : network(step_.images);
    loss_ = torch::cross_entropy_loss(logits, step_.labels);
  }

  void backward() override {
    loss_.backward();
    optimizer_->step();
  }

  double loss() override { return loss_.item<double>(); }
  void release() override { loss_.reset(); }

 private:
  StepCase step_;
  std::shared_ptr<models::Network> network_;
  VirtualBatch virtual_batch_{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer_;
  torch::Tensor loss_;
};

}  // namespace

StepCase make_step_case(const std::string& model, int64_t batch, int64_t side) {
  torch::manual_seed(1);
  const int64_t classes = models::model_info(model).side == 224 ? 1000 : 10;
  const auto images = torch::randn({batch, 3, side, side}).contiguous(torch::MemoryFormat::ChannelsLast);
  return {model, images, torch::randint(classes, {batch}), classes};
}

std::vector<int64_t> sizes_with(const std::string& norm, const NetworkLayer& layer, const StepCase& step) {
  auto sizes = layer.sizes;
  auto virtual_batch = virtual_batch_for(*models::norm_by_name(norm, sizes[1]), step.images);
  if (virtual_batch) sizes[0] = virtual_batch->put_before(step.images).size(0);
  return sizes;
}

std::unique_ptr<Contender> layer_contender(const NetworkLayer& layer, const StepCase& step, const std::string& norm) {
  const LayerCase layer_case{sizes_with(norm, layer, step), torch::MemoryFormat::ChannelsLast, layer.fusion};
  const auto tensors = make_tensors(layer_case);
  const auto made = make_layer(norm, tensors, layer.fusion);
  if (layer.parts.size() == 1) return autograd_contender(made, tensors);
  return std::make_unique<ConcatenatedContender>(made, layer.parts, tensors);
}

std::shared_ptr<models::Network> make_network(const StepCase& step, const std::string& norm) {
  torch::manual_seed(1);
  auto network =
      models::make_model(step.model, {.norm = norm, .classes = step.classes, .channels = step.images.size(1)});
  set_seed(*network, 1);
  network->train();
  return network;
}

VirtualBatch virtual_batch_of(const models::Network& network, const torch::Tensor& images) {
  for (const auto& module : network.modules())
    if (const auto* norm = dynamic_cast<const Norm*>(module.get())) return virtual_batch_for(*norm, images);
  throw Error("expected a network with norms, found none");
}

std::unique_ptr<StepContender> step_contender(const StepCase& step, const std::string& norm) {
  return std::make_unique<NetworkStep>(step, norm);
}

}  // namespace samplenorm::bench
