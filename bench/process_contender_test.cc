#include "bench/process_contender.h"

#include <gtest/gtest.h>

#include <sstream>

#include "samplenorm/error.h"

namespace samplenorm::bench {
namespace {

/// Notes what it is asked for.
class Diary : public StepContender {
 public:
  void forward() override { text += "f"; }
  void backward() override { text += "b"; }
  void release() override { text += "r"; }
  double loss() override { return 2.25; }

  std::string text;
};

void expect_error(StepContender& contender, const std::string& words) {
  try {
    contender.forward();
    FAIL() << "no error with " << words;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(ProcessContender, TakesTheAnswersOfTheProcess) {
  const auto contender =
      process_contender("sh -c 'while read line; do [ $line = loss ] && echo 1.5 || echo done; done'", "");
  contender->forward();
  EXPECT_EQ(contender->loss(), 1.5);
  contender->backward();
  contender->release();
}

TEST(ProcessContender, GivesTheProcessItsArgument) {
  const auto contender = process_contender("sh -c 'read line; echo $0'", "some file");
  expect_error(*contender, "got 'some file'");
}

TEST(ProcessContender, FailsWhereTheProcessEnds) {
  const auto contender = process_contender("no-such-program-here 2>/dev/null", "");
  expect_error(*contender, "has ended");
  expect_error(*contender, "has ended");  // and is not killed by writing to it
}

TEST(ProcessContender, FailsOnALossThatIsNone) {
  const auto contender = process_contender("sh -c 'while read line; do echo done; done'", "");
  EXPECT_THROW(contender->loss(), Error);
}

TEST(Serve, DoesWhatTheLinesAskForAndAnswersEach) {
  Diary diary;
  std::istringstream in("forward\nloss\nbackward\nrelease\nforward\n");
  std::ostringstream out;
  serve(diary, in, out);
  EXPECT_EQ(diary.text, "fbrf");
  EXPECT_EQ(out.str(), "done\n2.25\ndone\ndone\ndone\n");
}

TEST(Serve, FailsOnAnUnknownLine) {
  Diary diary;
  std::istringstream in("sideward\n");
  std::ostringstream out;
  EXPECT_THROW(serve(diary, in, out), Error);
}

}  // namespace
}  // namespace samplenorm::bench
