#include "record/study_file.h"

#include <gtest/gtest.h>

#include "record/test_folder.h"

namespace samplenorm::record {
namespace {

using StudyFileTest = TestFolder;

TEST_F(StudyFileTest, ResultsAreReadWithTheProgramRunThatMadeThem) {
  StudyFile(folder_, "accuracy", "quick", {{"cpu", "one"}}).add("BN", {{"top1", 0.5}});
  StudyFile(folder_, "accuracy", "quick", {{"cpu", "two"}}).add("LS", {{"top1", 0.6}});
  const auto studies = read_studies(folder_);
  ASSERT_EQ(studies.size(), 1u);
  ASSERT_EQ(studies[0].results.size(), 2u);
  EXPECT_EQ(studies[0].study, "accuracy");
  EXPECT_EQ(studies[0].scale, "quick");
  EXPECT_EQ(studies[0].results[1].fields["id"], "LS");
  EXPECT_EQ(studies[0].results[1].fields["top1"], 0.6);
  EXPECT_EQ(studies[0].begins[studies[0].results[0].begin]["cpu"], "one");
  EXPECT_EQ(studies[0].begins[studies[0].results[1].begin]["cpu"], "two");
}

TEST_F(StudyFileTest, AStudyThatWasStoppedKnowsWhatIsDone) {
  StudyFile(folder_, "decay", "quick", {}).add("alpha 0.1", {});
  const StudyFile again(folder_, "decay", "quick", {});
  EXPECT_TRUE(again.has("alpha 0.1"));
  EXPECT_FALSE(again.has("alpha 0.2"));
}

TEST_F(StudyFileTest, ALineThatWasCutOffIsTakenAway) {
  StudyFile(folder_, "decay", "quick", {}).add("whole", {});
  const auto file = folder_ / "decay.jsonl";
  write_content(file, content_of(file) + R"({"kind":"result","id":"hal)");
  EXPECT_EQ(read_study(file).results.size(), 1u);
  StudyFile(folder_, "decay", "quick", {}).add("next", {});
  const auto records = read_study(file);
  ASSERT_EQ(records.results.size(), 2u);
  EXPECT_EQ(records.results[1].fields["id"], "next");
}

TEST_F(StudyFileTest, AnotherScaleIsRefusedAndTheFileKept) {
  StudyFile(folder_, "decay", "quick", {}).add("a", {});
  const auto before = content_of(folder_ / "decay.jsonl");
  expect_error([&] { StudyFile(folder_, "decay", "full", {}); }, {"decay.jsonl", "quick", "full", "--out"});
  EXPECT_EQ(content_of(folder_ / "decay.jsonl"), before);
}

TEST_F(StudyFileTest, OtherSettingsAreRefused) {
  StudyFile(folder_, "decay", "quick", {{"settings", "limit=64"}}).add("a", {});
  expect_error(
      [&] {
        StudyFile(folder_, "decay", "quick", {{"settings", "limit=128"}});
      },
      {"decay.jsonl", "limit=64", "limit=128", "--out"});
}

TEST_F(StudyFileTest, AWrongLineIsNamed) {
  const auto file = folder_ / "x.jsonl";
  const std::string begin = R"({"kind":"begin","study":"x","scale":"quick"})"
                            "\n";
  write_content(file, begin + "[1]\n");
  expect_error([&] { read_study(file); }, {"x.jsonl:2", "object"});
  write_content(file, begin + "{\"kind\":\"result\"}\n");
  expect_error([&] { read_study(file); }, {"x.jsonl:2", "'id'"});
  write_content(file, begin + "{\"kind\":\"end\"}\n");
  expect_error([&] { read_study(file); }, {"x.jsonl:2", "'end'"});
  write_content(file, "{\"kind\":\"result\",\"id\":\"a\"}\n");
  expect_error([&] { read_study(file); }, {"x.jsonl:1", "begin"});
  write_content(file, "");
  expect_error([&] { read_study(file); }, {"x.jsonl", "none"});
  expect_error([&] { read_studies(folder_ / "nowhere"); }, {"nowhere"});
}

TEST_F(StudyFileTest, ABrokenTextBecomesValidJson) {
  StudyFile(folder_, "x", "quick", {{"command", "samplenorm \xff"}}).add("a", {});
  EXPECT_EQ(read_study(folder_ / "x.jsonl").begins.size(), 1u);
}

}  // namespace
}  // namespace samplenorm::record
