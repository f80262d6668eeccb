#include <torch/torch.h>

#include "nn/few_points.h"
#include "samplenorm/norm.h"

namespace samplenorm {
namespace {

template <class Visit>
void for_each_draws(torch::nn::Module& model, Visit visit) {
  for (const auto& module : model.modules(/*include_self=*/false))
    if (auto* draws = dynamic_cast<Draws*>(module.get())) visit(*draws);
  if (auto* draws = dynamic_cast<Draws*>(&model)) visit(*draws);
}

/// One watch for all layers, which know their names then.
void watch_points(torch::nn::Module& model) {
  std::map<SampledBatchNormImpl*, std::string> names;
  const auto add = [&](torch::nn::Module& module, const std::string& name) {
    if (auto* layer = dynamic_cast<SampledBatchNormImpl*>(&module)) names.try_emplace(layer, name);
  };
  for (const auto& item : model.named_modules("", /*include_self=*/false)) add(*item.value(), item.key());
  add(model, "");
  const auto watch = std::make_shared<PointsWatch>(names.size());
  for (const auto& [layer, name] : names) layer->few_points = std::make_shared<FewPoints>(FewPoints{name, watch});
}

}  // namespace

void set_seed(torch::nn::Module& model, uint64_t seed) {
  uint64_t number = 0;
  for_each_draws(model, [&](Draws& draws) {
    draws.key.seed = seed;
    draws.key.layer = number++;
  });
  watch_points(model);
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
