#include <torch/torch.h>

#include "samplenorm/norm.h"

namespace samplenorm {
namespace {

template <class Visit>
void for_each_draws(torch::nn::Module& model, Visit visit) {
  for (const auto& module : model.modules(/*include_self=*/false))
    if (auto* draws = dynamic_cast<Draws*>(module.get())) visit(*draws);
  if (auto* draws = dynamic_cast<Draws*>(&model)) visit(*draws);
}

}  // namespace

void set_seed(torch::nn::Module& model, uint64_t seed) {
  uint64_t number = 0;
  for_each_draws(model, [&](Draws& draws) {
    draws.key.seed = seed;
    draws.key.layer = number++;
  });
}

void set_epoch(torch::nn::Module& model, uint64_t epoch) {
  for_each_draws(model, [&](Draws& draws) { draws.key.epoch = epoch; });
}

void set_step(torch::nn::Module& model, uint64_t step) {
  for_each_draws(model, [&](Draws& draws) { draws.key.step = step; });
}

void set_place(torch::nn::Module& model, const Place& place) {
  for_each_draws(model, [&](Draws& draws) { draws.place = place; });
}

}  // namespace samplenorm
