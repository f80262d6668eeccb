#include "samplenorm/communicator.h"

#include <gtest/gtest.h>

#include "comm/communicator_checks.h"
#include "samplenorm/error.h"

namespace samplenorm {
namespace {

TEST(SingleProcess, DoesWhatACommunicatorDoes) {
  std::vector<std::string> failures;
  const auto comm = single_process();
  for (const CommunicatorCheck& check : communicator_checks()) check.run(*comm, failures);
  check_duplicate(*comm, failures);
  EXPECT_EQ(failures, std::vector<std::string>());
}

TEST(SingleProcess, EachCountsItsOwnTraffic) {
  const auto comm = single_process();
  std::array<double, 2> values{};
  comm->sum(values);
  EXPECT_EQ(comm->traffic().bytes, 16);
  EXPECT_EQ(single_process()->traffic().collectives, 0);
}

TEST(FindCommunicator, GivesWhatWasRegisteredLast) {
  const auto first = single_process(), second = single_process();
  register_communicator("a", first);
  register_communicator("b", second);
  EXPECT_EQ(find_communicator("a"), first);
  EXPECT_EQ(find_communicator("b"), second);
  register_communicator("a", second);
  EXPECT_EQ(find_communicator("a"), second);
  EXPECT_EQ(first.use_count(), 1);  // it is let go
  register_communicator("a", nullptr);
  register_communicator("b", nullptr);
  EXPECT_EQ(second.use_count(), 1);
  EXPECT_THROW(find_communicator("a"), Error);
  register_communicator("a", nullptr);  // twice does no harm
}

TEST(FindCommunicator, AnUnknownNameIsToldInASentence) {
  try {
    find_communicator("nobody");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "no communicator is registered as 'nobody', and torch.distributed has no process group of that name in "
        "this process");
  }
}

}  // namespace
}  // namespace samplenorm
