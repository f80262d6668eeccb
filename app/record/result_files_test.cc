#include "record/result_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "record/folder_lock.h"
#include "record/own_rate.h"
#include "record/test_folder.h"

namespace samplenorm::record {
namespace {

using nlohmann::json;
using ResultFilesTest = TestFolder;

ResultFiles files_of(const std::filesystem::path& folder, const std::string& settings = "") {
  return {folder, "accuracy", "standard", {{"settings", settings}}};
}

TEST_F(ResultFilesTest, EachResultIsAFileThatIsReadAgain) {
  auto files = files_of(folder_);
  EXPECT_FALSE(files.has("FS-1/64, seed 1"));
  files.add("FS-1/64, seed 1", {{"top1", 0.5}, {"history", {{{"epoch", 0}}, {{"epoch", 1}}}}});
  EXPECT_EQ(files_of(folder_).find("FS-1/64, seed 1")->at("top1"), 0.5);
  const auto text = content_of(folder_ / "accuracy" / "FS-1_64_seed_1.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);  // the begin, two epochs and the result
  EXPECT_EQ(read_studies(folder_).at(0).results.size(), 1u);
}

TEST_F(ResultFilesTest, AFileHoldsSeveralResultsThatBelongTogether) {
  files_of(folder_).add("BN, seed 1", {{{"id", "alpha 0.1"}, {"top1", 0.1}}, {{"id", "alpha 0.2"}, {"top1", 0.2}}});
  const auto studies = read_studies(folder_);
  ASSERT_EQ(studies.at(0).results.size(), 2u);
  EXPECT_EQ(studies[0].results[1].fields["id"], "alpha 0.2");
  EXPECT_EQ(files_of(folder_).find("BN, seed 1")->at("id"), "alpha 0.1");
}

TEST_F(ResultFilesTest, FilesOfAStudyAreReadAsOneWithTheProgramRunThatMadeEach) {
  ResultFiles(folder_, "accuracy", "standard", {{"cpu", "one"}}).add("a", {{"losses", {1, 2}}});
  ResultFiles(folder_, "accuracy", "standard", {{"cpu", "two"}}).add("b", json::object());
  const auto studies = read_studies(folder_);
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies[0].begins.at(studies[0].results.at(1).begin)["cpu"], "two");
  EXPECT_EQ(studies[1].study, "curves");  // those that have one
  EXPECT_EQ(studies[1].results.size(), 1u);
}

TEST_F(ResultFilesTest, WhatDoesNotBelongThereIsNamed) {
  files_of(folder_, "limit=1").add("a", json::object());
  expect_error([&] { files_of(folder_, "limit=2"); }, {"a.jsonl", "limit=1", "limit=2", "--out"});
  expect_error([&] { ResultFiles(folder_, "accuracy", "quick", {}); }, {"a.jsonl", "standard", "quick"});
  std::filesystem::rename(folder_ / "accuracy/a.jsonl", folder_ / "accuracy/b.jsonl");
  expect_error([&] { files_of(folder_, "limit=1").find("b"); }, {"b.jsonl", "'a'", "'b'"});
}

TEST_F(ResultFilesTest, ALockHasOneOwnerAndIsFreeWhenItIsGone) {
  EXPECT_FALSE(owner_of(folder_ / "new").has_value());
  {
    const FolderLock lock(folder_ / "new", "samplenorm study");
    EXPECT_EQ(owner_of(folder_ / "new"), ::getpid());
    expect_error([&] { FolderLock(folder_ / "new", "another"); },
                 {std::to_string(::getpid()), "samplenorm study", "--out"});
  }
  EXPECT_FALSE(owner_of(folder_ / "new").has_value());
  const FolderLock again(folder_ / "new", "another");
}

TEST(OwnRate, IsThatOfTheMostAccurateRun) {
  const auto run = [](double rate, const json& top1) { return json{{"rate", rate}, {"top1", top1}}; };
  EXPECT_EQ(own_rate({run(0.2, 0.5), run(0.05, 0.6)}), 0.05);
  EXPECT_EQ(own_rate({run(0.05, 0.6), run(0.2, 0.6)}), 0.2);
  EXPECT_EQ(own_rate({run(0.2, nullptr), run(0.05, 0.1)}), 0.05);
  EXPECT_EQ(own_rate({{{"rate", 0.2}, {"failed", "nan"}}, {{"rate", 0.05}, {"failed", "nan"}}}), 0.2);
}

TEST(FileName, HasNothingThatAFolderCouldNotHave) {
  EXPECT_EQ(file_name("FS-1/64+VDN-2/128 (256, 4), seed 1"), "FS-1_64+VDN-2_128_256_4_seed_1");
  EXPECT_NE(file_name("LS-1/64;least=2, seed 1"), file_name("LS-1/64, seed 1"));
}

}  // namespace
}  // namespace samplenorm::record
