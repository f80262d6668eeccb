// How a run is saved and restored.

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>

#include "samplenorm/error.h"
#include "train/description.h"
#include "train/first_nonfinite.h"
#include "train/run.h"

namespace samplenorm::train {

void Run::open_folder() {
  bool restored = false;
  if (is_first()) {
    restored = restore();
    const auto warn = [this](const std::string& sentence) { listener_.on_warning(sentence); };
    records_.emplace(options_.folder, restored ? std::optional(steps_done()) : std::nullopt, warn);
    records_->write_recipe(described(recipe_, options_.description, processes_.size()));
    if (restored) see_what_is_evaluated();
  }
  broadcast_value(processes_, restored);
  if (!restored || processes_.size() == 1) return;
  broadcast_value(processes_, epoch_);
  broadcast_value(processes_, step_);
  broadcast_value(processes_, evaluated_);
  broadcast_state(processes_, trainee_->network(), *optimizer_, sums_);
}

/// The run may have been stopped between an evaluation and its checkpoint. And a finished run whose last evaluation is
/// not in its records any more evaluates once more, since that is its result.
void Run::see_what_is_evaluated() {
  const auto is_recorded = [metrics = record::read_metrics(options_.folder)](int64_t epoch) {
    return std::any_of(metrics.epochs.begin(), metrics.epochs.end(),
                       [&](const auto& record) { return record.epoch == epoch; });
  };
  if (step_ == steps_per_epoch_) evaluated_ = is_recorded(epoch_);
  if (!done() || is_recorded(epoch_ - 1)) return;
  --epoch_;
  step_ = steps_per_epoch_;
}

/// False if there is no checkpoint to go on from.
bool Run::restore() {
  if (!options_.resume && holds_run(options_.folder))
    throw Error(fmt::format("there is a run in {} already: --resume goes on with it, and --out DIR begins another one",
                            options_.folder.string()));
  const auto warn = [this](const std::string& sentence) { listener_.on_warning(sentence); };
  const auto checkpoint = options_.resume ? checkpoints_.newest(warn) : std::nullopt;
  if (checkpoint) {
    restore_from(*checkpoint);
    warn_of_other_ranks();
  } else if (options_.resume && !checkpoints_.files().empty()) {
    throw Error(fmt::format("no checkpoint in {} is whole: --out DIR begins another run", options_.folder.string()));
  }
  return checkpoint.has_value();
}

void Run::restore_from(const Checkpoint& checkpoint) {
  const std::string where = "the checkpoint in " + options_.folder.string();
  const auto other = difference(recipe_from_json(checkpoint.recipe, where), recipe_);
  if (other) throw Error(fmt::format("{} cannot be resumed with this recipe: {}", where, *other));
  train::restore(trainee_->network(), checkpoint.tensors, where);
  train::restore(*optimizer_, sums_, checkpoint.tensors, where);
  epoch_ = checkpoint.epoch;
  step_ = checkpoint.step;
}

/// Other processes' statistics are of other rows, unless their number does not depend on the processes.
void Run::warn_of_other_ranks() {
  const auto before = ranks_of_run_in(options_.folder);
  const bool depends = !recipe_.sync && recipe_.stat_batch == 0 && !trainee_->network().buffers().empty();
  if (!before || *before == processes_.size() || !depends) return;
  listener_.on_warning(fmt::format(
      "the run was trained by {} processes and goes on with {}: each normalizes its own rows, of which it has "
      "another number now",
      *before, processes_.size()));
}

std::string Run::last_checkpoint() const {
  const auto files = checkpoints_.files();
  return files.empty() ? "there is no checkpoint before it" : "the last good checkpoint is " + files.back().string();
}

bool Run::is_due_by_steps() const {
  return recipe_.checkpoint_every > 0 && steps_done() % recipe_.checkpoint_every == 0;
}

bool Run::is_due_by_time() const {
  return recipe_.checkpoint_seconds > 0 &&
         std::chrono::steady_clock::now() - last_save_ >= std::chrono::seconds(recipe_.checkpoint_seconds);
}

/// Each process has had statistics of its own rows; what is evaluated and saved is their mean. Pooled ones are the
/// same.
void Run::share_running_statistics() {
  if (!recipe_.sync) average_running_statistics(processes_, trainee_->network());
}

void Run::save_checkpoint() {
  // A gradient can overflow behind a finite loss; such weights must not take a good checkpoint's place.
  if (const auto parameter = first_nonfinite_parameter(trainee_->network()))
    throw Diverged(fmt::format("the weights {} are not finite any more after step {}; {}", *parameter, steps_done() - 1,
                               last_checkpoint()));
  check_same_weights(processes_, trainee_->network());
  share_running_statistics();
  last_save_ = std::chrono::steady_clock::now();
  if (!is_first()) return;
  records_->flush();
  Checkpoint checkpoint;
  checkpoint.tensors = state_of(trainee_->network(), *optimizer_, sums_);
  checkpoint.model = recipe_.model;
  checkpoint.recipe = to_json(recipe_);
  checkpoint.epoch = epoch_;
  checkpoint.step = step_;
  checkpoints_.save(checkpoint);
}

}  // namespace samplenorm::train
