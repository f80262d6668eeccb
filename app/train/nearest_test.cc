#include "train/nearest.h"

#include <gtest/gtest.h>

namespace samplenorm::train {
namespace {

TEST(Nearest, IsTheOneWithTheFewestChanges) {
  const std::vector<std::string> names = {"rate", "rate_batch", "batch", "epochs"};
  EXPECT_EQ(nearest("rat", names), "rate");
  EXPECT_EQ(nearest("bacth", names), "batch");
  EXPECT_EQ(nearest("epoch", names), "epochs");
  EXPECT_EQ(nearest("rate_bacth", names), "rate_batch");
  EXPECT_EQ(nearest("", names), "rate");
}

}  // namespace
}  // namespace samplenorm::train
