#include "train/run.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "samplenorm/error.h"
#include "samplenorm/norm.h"
#include "train/evaluation.h"
#include "train/first_nonfinite.h"
#include "train/precision.h"
#include "train/schedule.h"

namespace samplenorm::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// recipe.json: what describes the run, and the recipe.
std::string described(const Recipe& recipe, const std::string& description) {
  using Json = nlohmann::ordered_json;
  Json json = description.empty() ? Json::object() : Json::parse(description);
  json["recipe"] = Json::parse(to_json(recipe));
  return json.dump(2) + "\n";
}

}  // namespace

Run::Run(const TrainerOptions& options, const data::DataSet& set, Listener& listener)
    : options_(options),
      recipe_(options.recipe),
      set_(set),
      listener_(listener),
      trainee_(std::make_shared<Trainee>(recipe_, set)),
      training_(std::make_unique<data::Loader>(set, loader_options(recipe_, true))),
      test_(std::make_unique<data::Loader>(set, loader_options(recipe_, false))),
      optimizer_(std::make_unique<Sgd>(trainee_->network(),
                                       SgdOptions{recipe_.momentum, recipe_.nesterov, recipe_.weight_decay})),
      checkpoints_(options.folder),
      steps_per_epoch_(training_->steps()) {
  if (!is_native_here(recipe_.precision))
    listener_.on_warning(
        fmt::format("this processor has no instructions for {}: float32 may be faster on it", recipe_.precision));
  trainee_->add_virtual_rows(*training_);
}

void Run::open_folder() {
  if (!options_.resume && holds_run(options_.folder))
    throw Error(fmt::format("there is a run in {} already: --resume goes on with it, and --out DIR begins another one",
                            options_.folder.string()));
  const auto warn = [this](const std::string& sentence) { listener_.on_warning(sentence); };
  const auto checkpoint = options_.resume ? checkpoints_.newest(warn) : std::nullopt;
  if (checkpoint) {
    restore_from(*checkpoint);
  } else if (options_.resume && !checkpoints_.files().empty()) {
    throw Error(fmt::format("no checkpoint in {} is whole: --out DIR begins another run", options_.folder.string()));
  }
  records_.emplace(options_.folder, checkpoint ? std::optional(steps_done()) : std::nullopt);
  records_->write_recipe(described(recipe_, options_.description));
  if (!checkpoint || step_ < steps_per_epoch_) return;
  for (const auto& record : record::read_metrics(options_.folder).epochs) evaluated_ |= record.epoch == epoch_;
}

void Run::restore_from(const Checkpoint& checkpoint) {
  const std::string where = "the checkpoint in " + options_.folder.string();
  const auto other = difference(recipe_from_json(checkpoint.recipe, where), recipe_);
  if (other) throw Error(fmt::format("{} cannot be resumed with this recipe: {}", where, *other));
  restore(trainee_->network(), checkpoint.tensors, where);
  restore(*optimizer_, sums_, checkpoint.tensors, where);
  epoch_ = checkpoint.epoch;
  step_ = checkpoint.step;
}

bool Run::train_epoch() {
  if (step_ == steps_per_epoch_) return true;  // it stopped before its evaluation
  trainee_->train();
  set_epoch(*trainee_, static_cast<uint64_t>(epoch_));
  set_step(*trainee_, static_cast<uint64_t>(steps_done()));
  training_->begin(epoch_, step_);
  double waited = 0;
  int64_t skipped = 0;
  while (step_ < steps_per_epoch_) {
    const auto begin = Clock::now();
    const auto batch = training_->next();
    if (!batch) throw Error(fmt::format("the data ended at step {} of an epoch of {}", step_, steps_per_epoch_));
    record::StepRecord record;
    record.epoch = epoch_;
    record.step = steps_done();
    record.waited_seconds = training_->waited_seconds() - std::exchange(waited, training_->waited_seconds());
    train_step(*batch, record);
    record.seconds = seconds_since(begin);
    sums_.seconds += record.seconds;
    sums_.waited_seconds += record.waited_seconds;
    sums_.skipped_images += training_->skipped() - std::exchange(skipped, training_->skipped());
    ++step_;
    records_->add(record);
    listener_.on_step(record);
    if (options_.stop_asked()) return false;
    if (step_ < steps_per_epoch_ && checkpoint_is_due()) save_checkpoint();
  }
  return true;
}

void Run::train_step(const data::Batch& batch, record::StepRecord& record) {
  record.rate = rate_at(recipe_, record.step, steps_per_epoch_);
  optimizer_->clear_gradients();
  const auto logits = trainee_->forward(batch.images);
  const auto options = torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(recipe_.label_smoothing);
  const auto loss = torch::nn::functional::cross_entropy(logits, batch.labels, options);
  record.loss = loss.item<double>();
  if (!std::isfinite(record.loss)) report_nonfinite(batch, record.loss);
  loss.backward();
  optimizer_->step(record.rate);
  sums_.steps += 1;
  sums_.loss += record.loss;
  sums_.images += batch.labels.size(0);
  sums_.right += right_among(logits.detach(), batch.labels, 1);
}

/// The weights are still those of the step's forward pass, so that it can be repeated and watched.
void Run::report_nonfinite(const data::Batch& batch, double loss) {
  set_step(*trainee_, static_cast<uint64_t>(steps_done()));
  const auto layer = first_nonfinite(trainee_->network(), [&] { trainee_->forward(batch.images); });
  throw Error(
      fmt::format("the loss is {} at step {} (epoch {}), and the first value that is not finite comes out of {}; {}",
                  loss, steps_done(), epoch_ + 1, layer.value_or("the loss itself"), last_checkpoint()));
}

std::string Run::last_checkpoint() const {
  const auto files = checkpoints_.files();
  return files.empty() ? "there is no checkpoint before it" : "the last good checkpoint is " + files.back().string();
}

bool Run::checkpoint_is_due() const {
  const bool by_steps = recipe_.checkpoint_every > 0 && steps_done() % recipe_.checkpoint_every == 0;
  const bool by_time =
      recipe_.checkpoint_seconds > 0 && seconds_since(last_save_) >= static_cast<double>(recipe_.checkpoint_seconds);
  return by_steps || by_time;
}

void Run::save_checkpoint() {
  // A gradient can overflow behind a finite loss; such weights must not take a good checkpoint's place.
  if (const auto parameter = first_nonfinite_parameter(trainee_->network()))
    throw Error(fmt::format("the weights {} are not finite any more after step {}; {}", *parameter, steps_done() - 1,
                            last_checkpoint()));
  records_->flush();
  Checkpoint checkpoint;
  checkpoint.tensors = state_of(trainee_->network(), *optimizer_, sums_);
  checkpoint.model = recipe_.model;
  checkpoint.recipe = to_json(recipe_);
  checkpoint.epoch = epoch_;
  checkpoint.step = step_;
  checkpoints_.save(checkpoint);
  last_save_ = Clock::now();
}

bool Run::evaluate_epoch() {
  const bool last = epoch_ + 1 == recipe_.epochs;
  if (evaluated_ || (!last && (epoch_ + 1) % recipe_.eval_every != 0)) return true;
  const auto evaluation = evaluate_trainee(*trainee_, recipe_, set_, epoch_, *training_, *test_, options_.stop_asked);
  if (!evaluation) return false;

  record::EpochRecord record;
  record.epoch = epoch_;
  record.step = steps_done();
  record.train_loss = sums_.loss / static_cast<double>(sums_.steps);
  record.train_top1 = static_cast<double>(sums_.right) / static_cast<double>(sums_.images);
  record.test_loss = evaluation->scores.loss;
  record.test_top1 = evaluation->scores.top1;
  record.test_top5 = evaluation->scores.top5;
  if (evaluation->recalibrated) {
    record.recalibrated_top1 = evaluation->recalibrated->top1;
    record.recalibrated_top5 = evaluation->recalibrated->top5;
  }
  record.seconds = sums_.seconds;
  record.waited_seconds = sums_.waited_seconds;
  record.skipped_images = sums_.skipped_images;
  records_->add(record);
  records_->flush();
  listener_.on_epoch(record);
  return true;
}

void Run::next_epoch() {
  ++epoch_;
  step_ = 0;
  sums_ = {};
  evaluated_ = false;
}

TrainingResult Run::result(bool stopped) const {
  const auto files = checkpoints_.files();
  return {stopped, files.empty() ? std::filesystem::path() : files.back(),
          record::read_metrics(options_.folder).epochs};
}

}  // namespace samplenorm::train
