#include "train/trainer.h"

#include <torch/torch.h>

#include "data/synthetic.h"
#include "record/test_folder.h"
#include "train/checkpoint.h"

namespace samplenorm::train {
namespace {

/// Keeps what it hears.
class Ear : public Listener {
 public:
  void on_step(const record::StepRecord&) override { ++steps; }
  void on_warning(const std::string& sentence) override { warnings.push_back(sentence); }
  int64_t steps = 0;
  std::vector<std::string> warnings;
};

class TrainerTest : public record::TestFolder {
 protected:
  TrainerOptions options() const {
    TrainerOptions options;
    options.recipe.model = "small";
    options.recipe.data = "synthetic";
    options.recipe.norm = "BN";
    options.recipe.epochs = 2;
    options.recipe.batch = 16;
    options.folder = folder_ / "run";
    return options;
  }

  data::DataSet set_ = data::make_synthetic({.train = 48, .test = 16, .side = 28});
  Ear ear_;
};

TEST_F(TrainerTest, WeightsThatOverflowBehindAFiniteLossAreADivergence) {
  auto diverging = options();
  diverging.recipe.schedule = "steps";
  diverging.recipe.warm_up = 0;
  diverging.recipe.rate = 3e38;  // the largest float32
  diverging.recipe.weight_decay = 1000;
  diverging.recipe.checkpoint_every = 1;
  try {
    train(diverging, set_, ear_);
    FAIL() << "no error";
  } catch (const Diverged& error) {
    EXPECT_NE(std::string(error.what()).find("are not finite any more after step 0"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(ear_.steps, 1);
  EXPECT_TRUE(CheckpointFolder(diverging.folder).files().empty());
}

TEST_F(TrainerTest, ADamagedLineOfMetricsDoesNotKeepARunFromGoingOn) {
  auto some = options();
  some.stop_asked = [this] { return ear_.steps + 1 >= 5; };
  EXPECT_TRUE(train(some, set_, ear_).stopped);
  const auto file = some.folder / "metrics.jsonl";
  std::string content = record::content_of(file);
  content[content.find("loss")] = '\xff';
  record::write_content(file, content);

  some.stop_asked = [] { return false; };
  some.resume = true;
  const auto result = train(some, set_, ear_);
  EXPECT_FALSE(result.stopped);
  ASSERT_EQ(ear_.warnings.size(), 1u);
  EXPECT_NE(ear_.warnings[0].find(file.string() + ":1: "), std::string::npos) << ear_.warnings[0];
  EXPECT_EQ(record::read_metrics(some.folder).steps.size(), 5u);
  EXPECT_EQ(result.epochs.size(), 2u);
}

TEST_F(TrainerTest, AFinishedRunEvaluatesOnceMoreWhereItsResultIsDamaged) {
  auto some = options();
  const auto before = train(some, set_, ear_);
  const auto file = some.folder / "metrics.jsonl";
  std::string content = record::content_of(file);
  content[content.rfind("test_top1")] = '?';
  record::write_content(file, content);

  some.resume = true;
  const auto result = train(some, set_, ear_);
  EXPECT_EQ(ear_.warnings.size(), 1u);
  EXPECT_EQ(ear_.steps, 6);
  ASSERT_EQ(result.epochs.size(), 2u);
  EXPECT_EQ(result.epochs.back().epoch, 1);
  EXPECT_EQ(result.epochs.back().step, before.epochs.back().step);
  EXPECT_EQ(result.epochs.back().test_top1, before.epochs.back().test_top1);
  EXPECT_EQ(result.epochs.back().test_loss, before.epochs.back().test_loss);
  EXPECT_EQ(result.checkpoint, before.checkpoint);
}

}  // namespace
}  // namespace samplenorm::train
