#include "train/trained.h"

#include <torch/torch.h>

#include "data/synthetic.h"
#include "record/test_folder.h"
#include "train/evaluation.h"

namespace samplenorm::train {
namespace {

/// A sampled norm inside of another one, which counts training steps in a buffer.
class CountingNorm : public Norm {
 public:
  explicit CountingNorm(const NormOptions& norm_options) : Norm(norm_options), inner_(norm_options) {
    register_module("inner", inner_);
    count = register_buffer("count", torch::zeros(1, torch::kInt64));
  }
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& residual = {}) override {
    if (is_training()) count += 1;
    return inner_->forward(x, residual);
  }
  int64_t virtual_rows() const override { return inner_->virtual_rows(); }

  torch::Tensor count;

 private:
  SampledBatchNorm inner_;
};

class StepCounter : public Listener {
 public:
  void on_step(const record::StepRecord&) override { ++steps; }
  int64_t steps = 0;
};

class TrainedTest : public record::TestFolder {
 protected:
  static constexpr const char* kNorm = "FS-1/64+VDN-2/16;redraw=step";

  TrainerOptions options_for(const std::string& name, bool counting) const {
    TrainerOptions options;
    options.recipe.model = "small";
    options.recipe.data = "synthetic";
    options.recipe.norm = kNorm;
    options.recipe.epochs = 2;
    options.recipe.batch = 16;
    options.folder = folder_ / name;
    if (counting)
      options.make_norm = [](int64_t channels, bool activated) {
        return std::make_shared<CountingNorm>(NormOptions(channels).spec(kNorm).relu(activated));
      };
    return options;
  }

  /// Stops after so many steps.
  void train_steps(TrainerOptions options, int64_t steps) {
    StepCounter counter;
    options.stop_asked = [&] { return counter.steps + 1 >= steps; };  // asked within a step
    EXPECT_TRUE(train(options, set_, counter).stopped);
  }

  static void expect_same_weights(const Trainee& a, const Trainee& b) {
    const auto ours = a.network().parameters(), theirs = b.network().parameters();
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) EXPECT_TRUE(ours[i].equal(theirs[i])) << i;
  }

  static std::vector<int64_t> counts_of(const Trainee& trainee) {
    std::vector<int64_t> counts;
    for (const auto& buffer : trainee.network().named_buffers())
      if (buffer.key().ends_with("count")) counts.push_back(buffer.value().item<int64_t>());
    return counts;
  }

  data::DataSet set_ = data::make_synthetic({.train = 80, .test = 40, .side = 28});
  Listener listener_;
};

TEST_F(TrainedTest, TheNetworkScoresWhatTheRunScored) {
  auto options = options_for("run", /*counting=*/false);
  options.recipe.recalibrate = 2;
  const auto result = train(options, set_, listener_);
  const auto trainee = trained(options, set_);
  EXPECT_FALSE(trainee->is_training());
  data::Loader training(set_, loader_options(options.recipe, true)), test(set_, loader_options(options.recipe, false));
  const auto evaluation =
      evaluate_trainee(*trainee, options.recipe, 1, {.set = set_, .training = training, .test = test});
  EXPECT_EQ(evaluation->scores.loss, result.epochs.back().test_loss);
  EXPECT_EQ(evaluation->scores.top1, result.epochs.back().test_top1);
  EXPECT_EQ(evaluation->recalibrated->top1, *result.epochs.back().recalibrated_top1);
}

TEST_F(TrainedTest, TheNetworkGoesOnWithTheDrawsOfTheNextStep) {
  // Running statistics show what was drawn: a step of the trainee must leave what the run's own next step leaves.
  for (const int64_t steps : {3, 7}) {  // in the first epoch of 5 steps, and in the second
    const auto options = options_for(std::to_string(steps), /*counting=*/false);
    train_steps(options, steps);
    const auto trainee = trained(options, set_);
    data::Loader training(set_, loader_options(options.recipe, true));
    training.begin(steps / 5, steps % 5);
    trainee->train();
    trainee->forward(training.next()->images);

    auto resumed = options;
    resumed.resume = true;
    train_steps(resumed, 1);
    const auto next = trained(options, set_);
    const auto ours = trainee->network().named_buffers(), theirs = next->network().named_buffers();
    ASSERT_FALSE(ours.is_empty());
    for (const auto& buffer : ours) EXPECT_TRUE(buffer.value().equal(theirs[buffer.key()])) << buffer.key();
  }
}

TEST_F(TrainedTest, SamplesAreThoseOfTheLastEpoch) {
  const auto epoch_of = [&](const TrainerOptions& options) -> uint64_t {
    for (const auto& module : trained(options, set_)->modules())
      if (const auto* draws = dynamic_cast<const Draws*>(module.get())) return draws->key.epoch;
    return 99;
  };
  const auto options = options_for("run", /*counting=*/false);
  train_steps(options, 3);
  EXPECT_EQ(epoch_of(options), 0u);
  auto resumed = options;
  resumed.resume = true;
  train(resumed, set_, listener_);
  EXPECT_EQ(epoch_of(options), 1u);
}

TEST_F(TrainedTest, NormsOfTheCallersAreTrainedSavedAndRestored) {
  const auto options = options_for("run", /*counting=*/true);
  train(options, set_, listener_);
  const auto trainee = trained(options, set_);
  const auto counts = counts_of(*trainee);
  ASSERT_FALSE(counts.empty());
  for (const int64_t count : counts) EXPECT_EQ(count, 10);
  // They only wrap the recipe's norm, so the weights are those of a run without them.
  const auto plain = options_for("plain", /*counting=*/false);
  train(plain, set_, listener_);
  expect_same_weights(*trainee, *trained(plain, set_));
}

TEST_F(TrainedTest, BuffersOfTheCallersNormsGoOnWhenARunIsResumed) {
  auto options = options_for("run", /*counting=*/true);
  train_steps(options, 3);
  for (const int64_t count : counts_of(*trained(options, set_))) EXPECT_EQ(count, 3);
  options.resume = true;
  train(options, set_, listener_);
  for (const int64_t count : counts_of(*trained(options, set_))) EXPECT_EQ(count, 10);
}

TEST_F(TrainedTest, SaysWhatIsMissingOrOther) {
  auto options = options_for("run", /*counting=*/true);
  record::expect_error([&] { trained(options, set_); }, {"no whole checkpoint in", options.folder.string()});
  train_steps(options, 1);
  auto other = options;
  other.recipe.rate = 0.5;
  record::expect_error([&] { trained(other, set_); }, {"of another recipe: rate is"});
  other = options;
  other.make_norm = {};
  record::expect_error([&] { trained(other, set_); }, {"is of another network"});
}

}  // namespace
}  // namespace samplenorm::train
