#include "record/event_encoding.h"

#include <gtest/gtest.h>

#include <string>

namespace samplenorm::record {
namespace {

using namespace std::string_literals;

// Written out from the .proto files: 0x09 is field 1 as 8 bytes, 0x10 field 2 as a number, 0x1a field 3 as text, 0x2a
// and 0x3a fields 5 and 7 as messages; 0.5 is 0x3fe0... as double, 1.0 is 0x3f80... as float.
const std::string kHalf = "\x09\0\0\0\0\0\0\xe0\x3f"s;

TEST(EventEncodingTest, TheFirstEventNamesTheVersion) {
  EXPECT_EQ(version_event(0.5), kHalf + "\x1a\x0d" + "brain.Event:2");
}

TEST(EventEncodingTest, AScalarIsASummaryOfOneValue) {
  EXPECT_EQ(scalars_event(0.5, 3, {{"a/b", 1.0}}),
            kHalf + "\x10\x03"s + "\x2a\x0c"s + "\x0a\x0a"s + "\x0a\x03"s + "a/b" + "\x15\0\0\x80\x3f"s);
}

TEST(EventEncodingTest, StepsBeyondOneByteAreVarints) {
  const auto event = scalars_event(0.5, 300, {});
  EXPECT_EQ(event, kHalf + "\x10\xac\x02"s + "\x2a\0"s);
}

TEST(EventEncodingTest, ARestartIsASessionLogOfStart) {
  EXPECT_EQ(restart_event(0.5, 3), kHalf + "\x10\x03"s + "\x3a\x02\x08\x01"s);
}

// The CRCs of this record were computed by an independent implementation (the tensorboard package).
TEST(EventEncodingTest, ARecordHasItsLengthAndBothMaskedCrcs) {
  const std::string record = tf_record("hello");
  ASSERT_EQ(record.size(), 8 + 4 + 5 + 4u);
  EXPECT_EQ(record.substr(0, 8), "\x05\0\0\0\0\0\0\0"s);
  EXPECT_EQ(record.substr(12, 5), "hello");
  EXPECT_EQ(record.substr(8, 4), "\xea\xb2\x04\x3e");
  EXPECT_EQ(record.substr(17, 4), "\xbb\x1f\x1c\x19");
}

}  // namespace
}  // namespace samplenorm::record
