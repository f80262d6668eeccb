#include "train/state.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <sstream>

#include "samplenorm/error.h"

namespace samplenorm::train {
namespace {

constexpr const char* kSums = "trainer.epoch_sums";

torch::Tensor copy_of(const torch::Tensor& tensor) { return tensor.detach().clone(torch::MemoryFormat::Contiguous); }

std::string velocity_name(const std::string& parameter) { return "optimizer." + parameter + ".momentum_buffer"; }

std::string shape(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

void put_back(torch::Tensor to, const std::string& name, const NamedTensors& tensors, const std::string& where) {
  for (const auto& [key, value] : tensors) {
    if (key != name) continue;
    if (value.sizes() != to.sizes() || value.scalar_type() != to.scalar_type())
      throw Error(fmt::format("{} is of another network: its {} is of size {} and should be of size {}", where, name,
                              shape(value), shape(to)));
    const torch::NoGradGuard no_gradients;
    to.copy_(value);
    return;
  }
  throw Error(fmt::format("{} is of another network: it has no {}", where, name));
}

}  // namespace

NamedTensors state_of(const models::Network& network, const Sgd& optimizer, const EpochSums& sums) {
  NamedTensors tensors;
  for (const auto& item : network.named_parameters()) tensors.emplace_back(item.key(), copy_of(item.value()));
  for (const auto& item : network.named_buffers())
    if (item.value().defined()) tensors.emplace_back(item.key(), copy_of(item.value()));
  for (const auto& slot : optimizer.slots()) tensors.emplace_back(velocity_name(slot.name), copy_of(slot.velocity));
  const auto number = [](int64_t count) { return static_cast<double>(count); };
  tensors.emplace_back(kSums, torch::tensor({number(sums.steps), number(sums.images), number(sums.right), sums.loss,
                                             sums.seconds, sums.waited_seconds, number(sums.skipped_images)},
                                            torch::kDouble));
  return tensors;
}

void restore(models::Network& network, const NamedTensors& tensors, const std::string& where) {
  for (const auto& item : network.named_parameters()) put_back(item.value(), item.key(), tensors, where);
  for (const auto& item : network.named_buffers())
    if (item.value().defined()) put_back(item.value(), item.key(), tensors, where);
}

void restore(Sgd& optimizer, EpochSums& sums, const NamedTensors& tensors, const std::string& where) {
  for (const auto& slot : optimizer.slots()) put_back(slot.velocity, velocity_name(slot.name), tensors, where);
  const auto all = torch::zeros(7, torch::kDouble);
  put_back(all, kSums, tensors, where);
  const auto* values = all.const_data_ptr<double>();
  const auto count = [](double number) { return static_cast<int64_t>(number); };
  sums = {count(values[0]), count(values[1]), count(values[2]), values[3], values[4], values[5], count(values[6])};
}

}  // namespace samplenorm::train
