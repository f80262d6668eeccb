#include "bench/step_bench.h"

#include <gtest/gtest.h>

#include <limits>

#include "samplenorm/error.h"

namespace samplenorm::bench {
namespace {

class FixedLoss : public StepContender {
 public:
  explicit FixedLoss(double loss) : loss_(loss) {}
  void forward() override {}
  void backward() override {}
  void release() override {}
  double loss() override { return loss_; }

 private:
  double loss_;
};

std::vector<Seconds> time_losses(double first, double second, bool second_is_exact) {
  std::vector<NamedStep> steps;
  steps.push_back({"one", true, std::make_unique<FixedLoss>(first)});
  steps.push_back({"two", second_is_exact, std::make_unique<FixedLoss>(second)});
  return time_steps(steps, kQuickEffort);
}

TEST(StepBench, TimesEveryContenderInEveryRound) {
  const auto seconds = time_losses(2, 2, true);
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_EQ(seconds[0].both.size(), static_cast<size_t>(kQuickEffort.rounds));
  EXPECT_EQ(seconds[1].both.size(), static_cast<size_t>(kQuickEffort.rounds));
}

TEST(StepBench, ExactStepsMustAgreeOnTheLossAndSampledOnesNeedNot) {
  EXPECT_THROW(time_losses(2, 2.1, true), Error);
  EXPECT_NO_THROW(time_losses(2, 2.1, false));
}

TEST(StepBench, RefusesALossThatIsNoNumber) {
  EXPECT_THROW(time_losses(2, std::numeric_limits<double>::quiet_NaN(), false), Error);
}

}  // namespace
}  // namespace samplenorm::bench
