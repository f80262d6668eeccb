#include "record/event_file.h"

#include <cstring>

#include "record/crc32c.h"
#include "record/test_folder.h"

namespace samplenorm::record {
namespace {

using EventFileTest = TestFolder;

template <class Number>
Number number_at(const std::string& bytes, size_t place) {
  Number number;
  std::memcpy(&number, bytes.substr(place, sizeof(number)).data(), sizeof(number));
  return number;
}

uint32_t unmasked(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return rotated >> 17 | rotated << 15;
}

/// The events of a file whose lengths and CRCs must be right.
std::vector<std::string> events_of(const std::filesystem::path& file) {
  const std::string bytes = content_of(file);
  std::vector<std::string> events;
  for (size_t place = 0; place < bytes.size();) {
    const auto length = number_at<uint64_t>(bytes, place);
    EXPECT_EQ(unmasked(number_at<uint32_t>(bytes, place + 8)), crc32c(bytes.substr(place, 8)));
    events.push_back(bytes.substr(place + 12, length));
    EXPECT_EQ(unmasked(number_at<uint32_t>(bytes, place + 12 + length)), crc32c(events.back()));
    place += 12 + length + 4;
  }
  return events;
}

TEST_F(EventFileTest, BeginsWithTheVersionAndHasARecordForEachStep) {
  EventFile file(folder_, std::nullopt);
  file.add(0, {{"train/loss", 1.5}, {"train/rate", 0.1}});
  file.add(1, {{"train/loss", 1.25}});
  const auto files = event_files(folder_);
  ASSERT_EQ(files.size(), 1u);
  const auto events = events_of(files[0]);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_NE(events[0].find("brain.Event:2"), std::string::npos);
  EXPECT_NE(events[1].find("train/loss"), std::string::npos);
  EXPECT_NE(events[1].find("train/rate"), std::string::npos);
  EXPECT_EQ(events[2].find("train/rate"), std::string::npos);
}

TEST_F(EventFileTest, AFileBegunInTheSameSecondSortsBehind) {
  for (int64_t i = 0; i < 3; ++i) EventFile(folder_, i).add(i, {{"i", static_cast<double>(i)}});
  const auto files = event_files(folder_);
  ASSERT_EQ(files.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const auto events = events_of(files[i]);
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[2].substr(9),
              scalars_event(0, static_cast<int64_t>(i), {{"i", static_cast<double>(i)}}).substr(9));
  }
}

}  // namespace
}  // namespace samplenorm::record
