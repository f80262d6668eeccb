#include "cli/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "cli/learner.h"
#include "cli/progress.h"
#include "train/evaluation.h"
#include "train/schedule.h"

namespace samplenorm::cli {
namespace {

constexpr int64_t kStepsPerTurn = 4;

using Learners = std::vector<std::unique_ptr<Learner>>;

std::string latest_losses(const Learners& learners) {
  std::string text = "loss";
  for (const auto& learner : learners) {
    const auto& losses = learner->losses();
    const auto count = std::min<int64_t>(20, static_cast<int64_t>(losses.size()));
    const double sum = std::accumulate(losses.end() - count, losses.end(), 0.0);
    text += fmt::format(" {} {:.3f}", learner->norm_name(), sum / static_cast<double>(count));
  }
  return text;
}

/// All learners take the same batches; who begins changes from turn to turn.
void take_turns(Learners& learners, const std::vector<data::Batch>& batches, const std::vector<double>& rates,
                int64_t turn) {
  for (size_t i = 0; i < learners.size(); ++i) {
    auto& learner = *learners[(i + static_cast<size_t>(turn)) % learners.size()];
    for (size_t j = 0; j < batches.size(); ++j) learner.step(batches[j], rates[j]);
  }
}

void train_all(Learners& learners, const train::Recipe& recipe, data::Loader& training) {
  const int64_t steps = training.steps();
  const int64_t images_per_step = recipe.batch * static_cast<int64_t>(learners.size());
  Progress progress(recipe.epochs * steps * images_per_step, "images");
  for (int64_t epoch = 0; epoch < recipe.epochs; ++epoch) {
    for (const auto& learner : learners) learner->begin_epoch(epoch);
    training.begin(epoch);
    for (int64_t begin = 0; begin < steps; begin += kStepsPerTurn) {
      const int64_t end = std::min(begin + kStepsPerTurn, steps);
      std::vector<data::Batch> batches;
      std::vector<double> rates;
      for (int64_t step = begin; step < end; ++step) {
        batches.push_back(training.next().value());
        rates.push_back(train::rate_at(recipe, epoch * steps + step, steps));
      }
      take_turns(learners, batches, rates, begin / kStepsPerTurn);
      progress.update((epoch * steps + end) * images_per_step, latest_losses(learners));
    }
  }
}

double mean_of_last_quarter(const std::vector<double>& values) {
  const auto begin = values.begin() + static_cast<int64_t>(values.size() * 3 / 4);
  return std::accumulate(begin, values.end(), 0.0) / static_cast<double>(values.end() - begin);
}

}  // namespace

std::vector<RaceResult> race(const train::Recipe& recipe, const std::vector<std::string>& norms,
                             const data::DataSet& set) {
  data::Loader training(set, train::loader_options(recipe, true));
  data::Loader test(set, train::loader_options(recipe, false));
  Learners learners;
  for (const auto& norm : norms) {
    train::Recipe own = recipe;
    own.norm = norm;
    learners.push_back(std::make_unique<Learner>(own, set, training));
  }
  train_all(learners, recipe, training);

  std::vector<RaceResult> results;
  for (const auto& learner : learners) {
    const auto& seconds = learner->step_seconds();
    RaceResult result;
    result.norm = learner->norm_name();
    result.test_accuracy = learner->accuracy(test);
    result.training_loss = mean_of_last_quarter(learner->losses());
    result.losses = learner->losses();
    result.step_seconds = bench::quartiles(seconds);
    result.images_per_second = static_cast<double>(recipe.batch) / result.step_seconds.median;
    result.relative_speed = bench::median_ratio(learners.front()->step_seconds(), seconds);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace samplenorm::cli
