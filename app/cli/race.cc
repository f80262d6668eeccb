#include "cli/race.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "cli/learner.h"
#include "cli/progress.h"
#include "samplenorm/error.h"
#include "samplenorm/norm.h"

namespace samplenorm::cli {
namespace {

constexpr int64_t kStepsPerTurn = 4;
constexpr double kHighestRate = 0.1;
constexpr double kWarmUpPart = 0.2;

using Learners = std::vector<std::shared_ptr<Learner>>;

/// One cycle: up from 0 and down to 0, both in a straight line. `progress` goes from 0 to 1.
double learning_rate(double progress) {
  return kHighestRate * std::min(progress / kWarmUpPart, (1 - progress) / (1 - kWarmUpPart));
}

/// Bytes to inputs of mean 0 and deviation 1.
struct InputScale {
  explicit InputScale(const torch::Tensor& images) {
    const auto values = images.to(torch::kFloat32);
    mean = values.mean().item<double>();
    deviation = values.std().item<double>();
  }

  /// The format is asked for by name, since one channel alone would pass for either.
  torch::Tensor operator()(const torch::Tensor& bytes) const {
    auto inputs = torch::empty(bytes.sizes(), torch::kFloat32, torch::MemoryFormat::ChannelsLast);
    return inputs.copy_(bytes).sub_(mean).div_(deviation);
  }

  double mean;
  double deviation;
};

struct Batch {
  torch::Tensor images;
  torch::Tensor labels;
};

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
void take_turns(Learners& learners, const std::vector<Batch>& batches, const std::vector<double>& rates, int64_t turn) {
  for (size_t i = 0; i < learners.size(); ++i) {
    auto& learner = *learners[(i + static_cast<size_t>(turn)) % learners.size()];
    for (size_t j = 0; j < batches.size(); ++j) learner.step(batches[j].images, batches[j].labels, rates[j]);
  }
}

void train(Learners& learners, const RaceOptions& options, const data::LabeledImages& data, const InputScale& scale) {
  const int64_t steps = data.images.size(0) / options.batch;  // an epoch; the rest of the images sits out
  const int64_t images_per_step = options.batch * static_cast<int64_t>(learners.size());
  const auto all_steps = static_cast<double>(options.epochs * steps);
  Progress progress(options.epochs * steps * images_per_step, "images");
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    for (const auto& learner : learners) set_epoch(*learner, static_cast<uint64_t>(epoch));
    auto generator = at::detail::createCPUGenerator(options.seed * 1000 + static_cast<uint64_t>(epoch));
    const auto order = torch::randperm(data.images.size(0), generator, torch::kInt64);
    for (int64_t begin = 0; begin < steps; begin += kStepsPerTurn) {
      const int64_t end = std::min(begin + kStepsPerTurn, steps);
      std::vector<Batch> batches;
      std::vector<double> rates;
      for (int64_t step = begin; step < end; ++step) {
        const auto which = order.narrow(0, step * options.batch, options.batch);
        batches.push_back({scale(data.images.index_select(0, which)), data.labels.index_select(0, which)});
        rates.push_back(learning_rate((static_cast<double>(epoch * steps + step) + 0.5) / all_steps));
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

std::vector<RaceResult> race(const RaceOptions& options, const data::FashionMnist& images) {
  const auto& training = images.train;
  if (training.images.size(0) < options.batch) {
    throw Error(fmt::format("expected at least one batch of {} training images, found {}", options.batch,
                            training.images.size(0)));
  }
  const InputScale scale(training.images);
  const auto typical_images = scale(training.images.slice(0, 0, 10000));
  Learners learners;
  for (const auto& norm : options.norms) {
    learners.push_back(std::make_shared<Learner>(norm, data::kFashionMnistClasses, options.seed, typical_images));
    set_seed(*learners.back(), options.seed);
  }
  train(learners, options, training, scale);

  const auto test_images = scale(images.test.images);
  std::vector<RaceResult> results;
  for (const auto& learner : learners) {
    const auto& seconds = learner->step_seconds();
    RaceResult result;
    result.norm = learner->norm_name();
    result.test_accuracy = learner->accuracy(test_images, images.test.labels);
    result.training_loss = mean_of_last_quarter(learner->losses());
    result.step_seconds = bench::quartiles(seconds);
    result.images_per_second = static_cast<double>(options.batch) / result.step_seconds.median;
    result.relative_speed = bench::median_ratio(learners.front()->step_seconds(), seconds);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace samplenorm::cli
