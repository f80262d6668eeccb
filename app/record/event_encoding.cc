#include "record/event_encoding.h"

#include <bit>
#include <cstring>

#include "record/crc32c.h"

namespace samplenorm::record {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

// The numbers of the fields in TensorBoard's .proto files.
constexpr int kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5, kEventSessionLog = 7;
constexpr int kSummaryValue = 1, kValueTag = 1, kValueSimple = 2;
constexpr int kSessionStatus = 1;
constexpr uint64_t kSessionStart = 1;

template <class Number>
std::string fixed(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string key(int field, WireType type) { return varint(static_cast<uint64_t>(field) << 3 | type); }
std::string number_field(int field, uint64_t value) { return key(field, kVarint) + varint(value); }
std::string double_field(int field, double value) { return key(field, kFixed64) + fixed(value); }
std::string float_field(int field, float value) { return key(field, kFixed32) + fixed(value); }
std::string bytes_field(int field, std::string_view value) {
  return key(field, kBytes) + varint(value.size()) + std::string(value);
}

std::string event(double wall_time, int64_t step) {
  return double_field(kEventWallTime, wall_time) + number_field(kEventStep, static_cast<uint64_t>(step));
}

/// A CRC of data that has CRCs in it is weak, so the format stores them rotated and shifted by a constant.
std::string masked_crc(std::string_view bytes) { return fixed(std::rotr(crc32c(bytes), 15) + 0xa282ead8u); }

}  // namespace

std::string version_event(double wall_time) {
  return double_field(kEventWallTime, wall_time) + bytes_field(kEventFileVersion, "brain.Event:2");
}

std::string restart_event(double wall_time, int64_t step) {
  return event(wall_time, step) + bytes_field(kEventSessionLog, number_field(kSessionStatus, kSessionStart));
}

std::string scalars_event(double wall_time, int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    summary +=
        bytes_field(kSummaryValue, bytes_field(kValueTag, tag) + float_field(kValueSimple, static_cast<float>(value)));
  }
  return event(wall_time, step) + bytes_field(kEventSummary, summary);
}

std::string tf_record(std::string_view event) {
  const std::string length = fixed(static_cast<uint64_t>(event.size()));
  return length + masked_crc(length) + std::string(event) + masked_crc(event);
}

}  // namespace samplenorm::record
