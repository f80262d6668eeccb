#include "cli/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/say.h"

namespace samplenorm::cli {
namespace {

constexpr double kForget = 0.05;

double waited_percent(double waited, double seconds) { return seconds > 0 ? 100 * waited / seconds : 0; }

struct StepTraffic {
  double collectives;
  double bytes;
};

StepTraffic in_a_step(const Traffic& traffic, int64_t steps) {
  const auto mean = [&](int64_t sum) { return steps > 0 ? static_cast<double>(sum) / static_cast<double>(steps) : 0; };
  return {mean(traffic.collectives), mean(traffic.bytes)};
}

std::string accuracies(const record::EpochRecord& record) {
  auto text = fmt::format("top-1 {:.2f} %, top-5 {:.2f} %", 100 * record.test_top1, 100 * record.test_top5);
  if (record.recalibrated_top1 && record.recalibrated_top5)
    text += fmt::format(" (recalibrated {:.2f} %, {:.2f} %)", 100 * *record.recalibrated_top1,
                        100 * *record.recalibrated_top5);
  return text;
}

}  // namespace

void TrainReport::on_begin(int64_t done, int64_t total) {
  first_ = done;
  if (quiet_) return;
  if (done > 0) say(stderr, fmt::format("resumed behind step {} of {}\n", done, total));
  progress_ = std::make_unique<Progress>(total - done, "steps");
}

void TrainReport::on_step(const record::StepRecord& record) {
  mean_loss_ = record.step == first_ ? record.loss : mean_loss_ + kForget * (record.loss - mean_loss_);
  if (!progress_) return;
  progress_->update(record.step + 1 - first_, fmt::format("epoch {}/{}, loss {:.4f}, learning rate {:.4f}",
                                                          record.epoch + 1, epochs_, mean_loss_, record.rate));
}

void TrainReport::on_epoch(const record::EpochRecord& record) {
  if (quiet_) return;
  if (progress_) progress_->clear();
  auto line = fmt::format("epoch {}/{}: loss {:.4f}, {}, {:.1f} s, waited for data {:.1f} %", record.epoch + 1, epochs_,
                          record.train_loss, accuracies(record), record.seconds,
                          waited_percent(record.waited_seconds, record.seconds));
  if (record.skipped_images > 0) line += fmt::format(", {} images could not be read", record.skipped_images);
  say(stdout, line + "\n");
  std::fflush(stdout);
}

void TrainReport::on_warning(const std::string& sentence) {
  if (progress_) progress_->clear();
  say(stderr, fmt::format("samplenorm: {}\n", sentence));
}

std::string summary(const train::TrainingResult& result) {
  if (result.epochs.empty()) return "";
  const auto& last = result.epochs.back();
  const auto& best = *std::max_element(result.epochs.begin(), result.epochs.end(),
                                       [](const auto& a, const auto& b) { return a.test_top1 < b.test_top1; });
  double seconds = 0, waited = 0;
  for (const auto& epoch : result.epochs) {
    seconds += epoch.seconds;
    waited += epoch.waited_seconds;
  }
  return fmt::format(
      "{} epochs, {} steps: {}; best top-1 {:.2f} % in epoch {}; {:.0f} s in training, waited for data {:.1f} %",
      last.epoch + 1, last.step, accuracies(last), 100 * best.test_top1, best.epoch + 1, seconds,
      waited_percent(waited, seconds));
}

std::string summary(const train::TrainingTraffic& traffic) {
  const auto statistics = in_a_step(traffic.statistics, traffic.steps);
  const auto gradients = in_a_step(traffic.gradients, traffic.steps);
  return fmt::format(
      "a process sent in a step: {:.0f} bytes in {:.0f} collectives for statistics, {:.0f} bytes in {:.0f} "
      "for gradients",
      statistics.bytes, statistics.collectives, gradients.bytes, gradients.collectives);
}

nlohmann::json to_json(const train::TrainingTraffic& traffic) {
  const auto json = [&](const Traffic& part) -> nlohmann::json {
    const auto step = in_a_step(part, traffic.steps);
    return {{"collectives", step.collectives}, {"bytes", step.bytes}};
  };
  return {{"statistics", json(traffic.statistics)}, {"gradients", json(traffic.gradients)}};
}

nlohmann::json to_json(const record::EpochRecord& record) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  return {{"epoch", record.epoch},
          {"step", record.step},
          {"train_loss", record.train_loss},
          {"train_top1", record.train_top1},
          {"test_loss", record.test_loss},
          {"test_top1", record.test_top1},
          {"test_top5", record.test_top5},
          {"recalibrated_top1", or_null(record.recalibrated_top1)},
          {"recalibrated_top5", or_null(record.recalibrated_top5)},
          {"seconds", record.seconds},
          {"waited_seconds", record.waited_seconds},
          {"skipped_images", record.skipped_images}};
}

}  // namespace samplenorm::cli
