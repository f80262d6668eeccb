#include "study/watched_training.h"

#include <torch/torch.h>

#include "train/evaluation.h"

namespace samplenorm::study {

WatchedTraining::WatchedTraining(Study& study, const train::Recipe& recipe, const std::filesystem::path& folder,
                                 const std::string& watched)
    : study_(study),
      set_(train::open_data(recipe)),
      batches_(std::make_unique<data::Loader>(set_, train::loader_options(recipe, true))) {
  const int64_t steps = recipe.epochs * steps_per_epoch();
  run_ = train_with(study, recipe, set_, folder, [=, norm = train::full_notation(recipe)](int64_t channels, bool relu) {
    return std::make_shared<WatchedNorm>(NormOptions(channels).spec(norm).relu(relu), steps, watched);
  });
  for (const auto& module : run_.trainee->network().named_modules())
    if (const auto norm = std::dynamic_pointer_cast<WatchedNorm>(module.value()))
      layers_.emplace_back(module.key(), norm);
}

void WatchedTraining::pass(int64_t epoch, int64_t batches) {
  const torch::NoGradGuard no_gradients;
  auto& trainee = *run_.trainee;
  trainee.train();
  set_epoch(trainee, static_cast<uint64_t>(epoch));
  batches_->begin(epoch);
  for (int64_t step = 0; step < batches; ++step) {
    const auto batch = batches_->next();
    if (!batch) break;
    study_.check_stop();
    trainee.forward(batch->images);
    study_.watcher().on_progress(step + 1, batches, "batches");
  }
}

}  // namespace samplenorm::study
