#include "train/run.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>

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

void add(Traffic& to, const Traffic& more) {
  to.collectives += more.collectives;
  to.bytes += more.bytes;
}

/// A process's share of each batch.
std::unique_ptr<data::Loader> share(const Recipe& recipe, const data::DataSet& set, bool training,
                                    const Communicator& processes) {
  const auto options = loader_options(recipe, training, processes.rank(), processes.size());
  return std::make_unique<data::Loader>(set, options);
}

}  // namespace

Run::Run(const TrainerOptions& options, const data::DataSet& set, Listener& listener)
    : options_(options),
      recipe_(options.recipe),
      processes_(*options_.communicator),
      set_(set),
      listener_(listener),
      trainee_(std::make_shared<Trainee>(recipe_, set, model_options(recipe_, set, options.make_norm))),
      training_(share(recipe_, set, /*training=*/true, processes_)),
      test_(share(recipe_, set, /*training=*/false, processes_)),
      optimizer_(std::make_unique<Sgd>(trainee_->network(),
                                       SgdOptions{recipe_.momentum, recipe_.nesterov, recipe_.weight_decay})),
      checkpoints_(options.folder),
      steps_per_epoch_(training_->steps()) {
  if (!is_native_here(recipe_.precision))
    listener_.on_warning(
        fmt::format("this processor has no instructions for {}: float32 may be faster on it", recipe_.precision));
  const bool several = processes_.size() > 1;
  if (several) whole_ = std::make_unique<data::Loader>(set, loader_options(recipe_, true));
  trainee_->add_virtual_rows(whole_batches());
  if (!several) return;
  if (recipe_.sync) sync_.emplace(options_.communicator);
  set_place(*trainee_, {processes_.rank(), processes_.size(), sync_ ? sync_->name() : ""});
  gradients_ = std::make_unique<GradientBuckets>(trainee_->network().parameters(), processes_);
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
    const int64_t newly_skipped = training_->skipped() - std::exchange(skipped, training_->skipped());
    const StepSums sums = train_step(*batch, newly_skipped, record);
    record.seconds = seconds_since(begin);
    sums_.seconds += record.seconds;
    sums_.waited_seconds += record.waited_seconds;
    ++step_;
    if (records_) records_->add(record);
    listener_.on_step(record);
    if (sums.stop > 0) return false;
    if (step_ < steps_per_epoch_ && (is_due_by_steps() || sums.save > 0)) save_checkpoint();
  }
  return true;
}

/// Between forward and backward the processes tell each other how it went: a loss that is not finite must end all of
/// them, and they stop and save together.
StepSums Run::train_step(const data::Batch& batch, int64_t skipped, record::StepRecord& record) {
  const Traffic before = processes_.traffic();
  record.rate = rate_at(recipe_, record.step, steps_per_epoch_);
  optimizer_->clear_gradients();
  const auto logits = trainee_->forward(batch.images);
  const auto options = torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(recipe_.label_smoothing);
  auto loss = torch::nn::functional::cross_entropy(logits, batch.labels, options);
  const auto images = static_cast<double>(batch.labels.size(0));
  const StepSums sums =
      sum_over(processes_, {.loss = loss.item<double>() * images,
                            .images = images,
                            .right = static_cast<double>(right_among(logits.detach(), batch.labels, 1)),
                            .skipped = static_cast<double>(skipped),
                            .stop = options_.stop_asked() ? 1.0 : 0.0,
                            .save = is_first() && is_due_by_time() ? 1.0 : 0.0});
  record.loss = sums.loss / sums.images;
  if (!std::isfinite(record.loss)) report_nonfinite(batch, record.loss);
  // So that the mean over the processes is the gradient of the whole batch's mean loss.
  const double weight = images * processes_.size() / sums.images;
  if (weight != 1) loss = loss * weight;
  loss.backward();
  if (gradients_) gradients_->finish();
  optimizer_->step(record.rate);
  sums_.steps += 1;
  sums_.loss += record.loss;
  sums_.images += static_cast<int64_t>(sums.images);
  sums_.right += static_cast<int64_t>(sums.right);
  sums_.skipped_images += static_cast<int64_t>(sums.skipped);
  ++traffic_.steps;
  add(traffic_.statistics, processes_.traffic() - before - kStepSumsTraffic);
  return sums;
}

/// The weights are still those of the step's forward pass, so that it can be repeated and watched.
void Run::report_nonfinite(const data::Batch& batch, double loss) {
  set_step(*trainee_, static_cast<uint64_t>(steps_done()));
  const auto layer =
      first_of(processes_, first_nonfinite(trainee_->network(), [&] { trainee_->forward(batch.images); }));
  throw Diverged(
      fmt::format("the loss is {} at step {} (epoch {}), and the first value that is not finite comes out of {}; {}",
                  loss, steps_done(), epoch_ + 1, layer.value_or("the loss itself"), last_checkpoint()));
}

bool Run::evaluate_epoch() {
  const bool last = epoch_ + 1 == recipe_.epochs;
  if (evaluated_ || (!last && (epoch_ + 1) % recipe_.eval_every != 0)) return true;
  share_running_statistics();
  const auto evaluation = evaluate_trainee(*trainee_, recipe_, epoch_,
                                           {set_, whole_batches(), *test_, options_.stop_asked, options_.communicator});
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
  if (records_) {
    records_->add(record);
    records_->flush();
  }
  listener_.on_epoch(record);
  return true;
}

void Run::next_epoch() {
  ++epoch_;
  step_ = 0;
  sums_ = {};
  evaluated_ = false;
}

TrainingResult Run::result(bool stopped) {
  TrainingResult result{.stopped = stopped, .checkpoint = {}, .epochs = {}, .traffic = traffic_};
  result.traffic.statistics = mean_over(processes_, traffic_.statistics);
  result.traffic.gradients = mean_over(processes_, gradients_ ? gradients_->traffic() : Traffic());
  if (!is_first()) return result;
  const auto files = checkpoints_.files();
  if (!files.empty()) result.checkpoint = files.back();
  result.epochs = record::read_metrics(options_.folder).epochs;
  return result;
}

}  // namespace samplenorm::train
