#include <gtest/gtest.h>

#include <random>

#include "samplenorm/notation.h"

namespace samplenorm {
namespace {

struct Wrong {
  std::string notation;
  size_t position;
  std::string word;
};

const Wrong kWrong[] = {
    {"", 0, "expected a method, one of BN, NS"},
    {"XS-1/64", 0, "unknown method 'XS'"},
    {"fs-1/64", 0, "unknown method 'fs'"},
    {" FS-1/64", 0, "expected a method"},
    {"FS", 2, "as in FS-1/64"},
    {"FS;decay=1", 2, "expected '-'"},
    {"FS-", 3, "first number"},
    {"FS-a/64", 3, "first number"},
    {"FS--1/64", 3, "first number"},
    {"FS-1", 4, "expected '/'"},
    {"FS-1.5/64", 4, "expected '/'"},
    {"FS-1/", 5, "second number"},
    {"FS-0/64", 3, "at least 1"},
    {"FS-1/0", 5, "at least 1"},
    {"FS-3/2", 3, "larger than 1"},
    {"FS-1/1000000001", 5, "too large"},
    {"FS-99999999999999999999/1", 3, "too large"},
    {"FS-1/64x", 7, "unexpected 'x', expected '+', ';' or the end"},
    {"FS-1/64 ", 7, "unexpected ' '"},
    {"FS-1/64,decay=1", 7, "unexpected ','"},
    {"BNx", 0, "unknown method 'BNx'"},
    {"FS-1/32-", 8, "expected a percentage"},
    {"FS-1/32-3..1%", 8, "expected a percentage"},
    {"FS-1/32-.%", 8, "expected a percentage"},
    {"FS-1/32-3.1", 11, "expected '%'"},
    {"FS-1/32-3.2%", 8, "the ratio is 3.12 %"},
    {"FS-1/32-3.12%x", 13, "unexpected 'x'"},
    {"BS-1/128-0.9%", 9, "the ratio is 0.781 %"},
    {"BN-1/2", 3, "all of the data"},
    {"BN-128/128-99.0%", 11, "the ratio is 100 %"},
    {"BN+VDN-2/128", 2, "BN cannot be mixed"},
    {"VDN-2/128+BN", 10, "BN cannot be mixed"},
    {"FRS-1/32+VDN-2/128", 8, "FRS cannot be mixed"},
    {"VDN-2/128+FRS-1/32", 10, "FRS cannot be mixed"},
    {"FS-1/64+BS-4/128", 8, "one of virtual rows"},
    {"VDN-1/128+VDN-2/128", 10, "one method of real rows"},
    {"FS-1/64+", 8, "expected a method"},
    {"FS-1/64+VDN-2/128+NS-1/2", 17, "unexpected '+', expected ';' or the end"},
    {"FS-1/64;", 8, "expected an option, one of beta"},
    {"FS-1/64;;decay=1", 8, "expected an option"},
    {"FS-1/64;speed=1", 8, "unknown option 'speed'"},
    {"FS-1/64;Decay=1", 8, "unknown option 'Decay'"},
    {"FS-1/64;decay", 13, "expected '='"},
    {"FS-1/64;decay=", 14, "decay must be a number in (0, 1]"},
    {"FS-1/64;decay=0", 14, "(0, 1]"},
    {"FS-1/64;decay=1.5", 14, "(0, 1]"},
    {"FS-1/64;decay=nan", 14, "(0, 1]"},
    {"FS-1/64;decay=0.5x;first=batch", 14, "(0, 1]"},
    {"FS-1/64;decay=0.5;decay=0.5", 18, "twice"},
    {"FS-1/64;beta=0.5", 8, "needs a mix"},
    {"VDN-2/128;beta=0.5", 10, "needs a mix"},
    {"FS-1/64+VDN-2/128;beta=2", 23, "beta must be a number in [0, 1]"},
    {"FS-1/64+VDN-2/128;beta=-0.1", 23, "[0, 1]"},
    {"FS-1/64+VDN-2/128;beta=", 23, "[0, 1]"},
    {"FS-1/64;first=two", 14, "'zero' or 'batch'"},
    {"BN;redraw=step", 3, "needs a method that draws"},
    {"NS-1/64;redraw=step", 8, "needs a method that draws"},
    {"VDN-2/128+NS-1/64;redraw=step", 18, "needs a method that draws"},
    {"BS-1/64;redraw=often", 15, "'epoch', 'step' or 'never'"},
    {"BS-1/64;nodes=0", 14, "a whole number of at least 1 or a part of 1, as in 1/4"},
    {"BS-1/64;nodes=1/", 14, "as in 1/4"},
    {"BS-1/64;nodes=5/4", 14, "as in 1/4"},
    {"BS-1/64;nodes=-1/4", 14, "as in 1/4"},
    {"VDN-2/64;nodes=all", 15, "as in 1/4"},
    {"FS-1/64;nodes=1/4", 8, "BS or VDN"},
    {"BS-1/64;stat_batch=0", 19, "a whole number of at least 1"},
    {"BS-1/64;stat_batch=-4", 19, "at least 1"},
    {"BS-1/64;stat_batch=1.5", 19, "a whole number"},
    {"LS-1/64;least=0", 14, "least must be a whole number of at least 1"},
    {"LS-1/64;least=-1", 14, "at least 1"},
    {"FS-1/64;least=many", 14, "a whole number"},
    {"FS-1/64;least=1.5", 14, "a whole number"},
    {"FS-1/64;least=", 14, "a whole number"},
    {"FS-1/64;least=99999999999999999999", 14, "a whole number"},
    {"FS-1/64+VDN-2/128;least=0", 24, "at least 1"},
    {"FS-1/64;least=2;least=2", 16, "twice"},
    {"BN;least=2", 3, "needs a method that samples real rows"},
    {"VDN-2/128;least=2", 10, "needs a method that samples real rows"},
    {"FS-1/64;field=white", 8, "needs virtual rows"},
    {"VDN-2/128;field=pink", 16, "'white' or 'spectrum'"},
};

TEST(NotationError, PointsAtTheWrongCharacterAndSaysWhatIsWrong) {
  for (const auto& [notation, position, word] : kWrong) {
    try {
      parse(notation);
      ADD_FAILURE() << notation << " parses";
    } catch (const NotationError& error) {
      EXPECT_EQ(error.position(), position) << error.what();
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what() << "\nlacks: " << word;
    }
  }
}

TEST(NotationError, ShowsACaretBelowTheWrongCharacter) {
  try {
    parse("FS-1/64+BS-4/128");
    FAIL();
  } catch (const NotationError& error) {
    const std::string expected =
        "wrong notation at character 9: a mix has one method of real rows and one of virtual rows, as in "
        "FS-1/64+VDN-2/128\n"
        "  FS-1/64+BS-4/128\n"
        "          ^";
    EXPECT_EQ(error.what(), expected);
  }
}

TEST(NotationError, HasItsCaretInTheColumnOfItsPosition) {
  for (const Wrong& wrong : kWrong) {
    try {
      parse(wrong.notation);
    } catch (const NotationError& error) {
      const std::string message = error.what();
      const std::string tail = "\n  " + wrong.notation + "\n  " + std::string(error.position(), ' ') + "^";
      ASSERT_GE(message.size(), tail.size());
      EXPECT_EQ(message.substr(message.size() - tail.size()), tail);
    }
  }
}

std::string mutated(std::string text, std::mt19937_64& random) {
  static const std::string alphabet = "BNSFLVDR0123456789-/+;=.%_ae xbtdcy\n\xC3\xA9" + std::string(1, '\0');
  for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
    const size_t at = random() % (text.size() + 1);
    const char c = alphabet[random() % alphabet.size()];
    const uint64_t kind = random() % 4;
    if (kind == 0) text.insert(at, 1, c);
    if (kind == 1) text.erase(at, 1 + random() % 3);
    if (kind == 2 && at < text.size()) text[at] = c;
    if (kind == 3) text.insert(at, text.substr(random() % (text.size() + 1), 8));
  }
  return text;
}

TEST(NotationError, IsAllThatRandomMutationsOfANotationCause) {
  const std::string valid[] = {"BN",
                               "BN-128/128-100.0%",
                               "FS-1/32-3.1%",
                               "NS-4/128",
                               "VDN-2/128;field=spectrum",
                               "LS-1/64+VDN-2/128;beta=0.3;decay=0.7;first=batch;redraw=step;stat_batch=4;least=7",
                               "FRS-1/32;redraw=never"};
  std::mt19937_64 random(1);
  int parsed = 0, refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string text = mutated(valid[random() % std::size(valid)], random);
    try {
      const Spec spec = parse(text);
      ++parsed;
      ASSERT_EQ(parse(to_string(spec)), spec) << text;
    } catch (const NotationError& error) {
      ++refused;
      ASSERT_LE(error.position(), text.size()) << text;
    }
  }
  EXPECT_GT(parsed, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(NotationError, IsThrownForAViewOfNothing) { EXPECT_THROW(parse(std::string_view()), NotationError); }

}  // namespace
}  // namespace samplenorm
