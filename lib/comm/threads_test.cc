#include <gtest/gtest.h>

#include <thread>

#include "comm/communicator_checks.h"
#include "samplenorm/error.h"

namespace samplenorm {
namespace {

/// Runs it for all ranks at once, each in a thread; gives what each found wrong.
template <typename Function>
std::vector<std::string> on_all(const std::vector<std::shared_ptr<Communicator>>& ranks, const Function& function) {
  std::vector<std::vector<std::string>> found(ranks.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks.size(); ++i) threads.emplace_back([&, i] { function(*ranks[i], found[i]); });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> all;
  for (size_t i = 0; i < ranks.size(); ++i)
    for (const std::string& failure : found[i]) all.push_back("rank " + std::to_string(i) + ": " + failure);
  return all;
}

using None = std::vector<std::string>;

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, DoWhatACommunicatorDoes) {
  const auto ranks = thread_communicators(GetParam());
  for (const CommunicatorCheck& check : communicator_checks())
    EXPECT_EQ(on_all(ranks, check.run), None()) << check.name;
}

TEST_P(Threads, ACopyServesASecondThreadAtTheSameTime) {
  EXPECT_EQ(on_all(thread_communicators(GetParam()), check_duplicate), None());
}

INSTANTIATE_TEST_SUITE_P(Sizes, Threads, testing::Values(1, 2, 3, 4, 7));

TEST(Threads, SumsAreAddedInTheOrderOfRanks) {
  const auto wrong = on_all(thread_communicators(3), [](Communicator& comm, std::vector<std::string>& failures) {
    std::array<double, 1> value{std::array{1.0, 1e-16, 1e-16}.at(static_cast<size_t>(comm.rank()))};
    comm.sum(value);
    if (value[0] != 1.0) failures.push_back("added from the small values on");
  });
  EXPECT_EQ(wrong, None());
}

TEST(Threads, DifferentLengthsInOneCallAreAnErrorOnAllRanks) {
  const auto wrong = on_all(thread_communicators(3), [](Communicator& comm, std::vector<std::string>& failures) {
    std::vector<float> values(comm.rank() == 1 ? 3 : 2);
    try {
      comm.sum(values);
      failures.push_back("expected an error");
    } catch (const Error&) {
    }
    comm.sum(std::span(values).first(2));  // it still serves
  });
  EXPECT_EQ(wrong, None());
}

TEST(Threads, NoneAreAnError) { EXPECT_THROW(thread_communicators(0), Error); }

}  // namespace
}  // namespace samplenorm
