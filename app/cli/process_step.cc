#include "cli/process_step.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "samplenorm/norm.h"

namespace samplenorm::cli {

ProcessStep::ProcessStep(const bench::StepCase& step, const std::string& norm, bool sync, Communicator& processes)
    : name_(fmt::format("samplenorm bench, {}{}", norm, sync ? ", pooled" : "")),
      communicator_(processes.duplicate()),
      step_(step),
      network_(bench::make_network(step, norm)),
      virtual_batch_(bench::virtual_batch_of(*network_, step.images)),
      optimizer_(*network_, {}),
      buckets_(network_->parameters(), processes) {
  register_communicator(name_, communicator_);
  const Place place{processes.rank(), processes.size(), sync ? name_ : ""};
  set_place(*network_, place);
  if (!virtual_batch_) return;
  set_seed(*virtual_batch_, 1);
  set_place(*virtual_batch_, place);
}

ProcessStep::~ProcessStep() { register_communicator(name_, nullptr); }

double ProcessStep::run() {
  const Traffic begin = communicator_->traffic(), gradients = buckets_.traffic();
  optimizer_.clear_gradients();
  const auto network = [this](const torch::Tensor& x) { return network_->forward(x); };
  const auto logits = virtual_batch_ ? virtual_batch_->forward(step_.images, network) : network(step_.images);
  const auto loss = torch::cross_entropy_loss(logits, step_.labels);
  const Traffic after_forward = communicator_->traffic();
  loss.backward();
  buckets_.finish();
  optimizer_.step(/*rate=*/0);
  traffic_ = {after_forward - begin, communicator_->traffic() - after_forward, buckets_.traffic() - gradients};
  return loss.item<double>();
}

}  // namespace samplenorm::cli
