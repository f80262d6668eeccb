#include "report/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "record/study_file.h"
#include "record/test_folder.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;
using record::content_of;
using record::expect_error;
using record::StudyFile;

class ReportTest : public record::TestFolder {
 protected:
  void SetUp() override {
    TestFolder::SetUp();
    file_ = folder_ / "report.html";
  }

  std::filesystem::path study(const std::string& folder, const std::string& name, const std::string& norm) {
    StudyFile(folder_ / folder, name, "quick", {{"cpu", "one"}}).add(norm, {{"norm", norm}});
    return folder_ / folder;
  }

  /// What the page holds for its script.
  json data() {
    const std::string page = content_of(file_), opening = R"(id="data">)";
    const size_t begin = page.find(opening) + opening.size();
    return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  }

  std::filesystem::path file_;
};

TEST_F(ReportTest, ThePageHoldsTheRecordsAndAllThatShowsThem) {
  write_report({study("a", "decay", "BS-1/128")}, file_);
  const json shown = data();
  ASSERT_EQ(shown["studies"].size(), 1u);
  const json& study = shown["studies"][0];
  EXPECT_EQ(study["study"], "decay");
  EXPECT_EQ(study["scale"], "quick");
  EXPECT_EQ(study["begins"][0]["cpu"], "one");
  EXPECT_EQ(study["results"][0]["norm"], "BS-1/128");
  EXPECT_EQ(study["results"][0]["begin"], 0);
  EXPECT_FALSE(shown["claims"].empty());
  EXPECT_FALSE(shown["claims"][0]["verdict"].get<std::string>().empty());

  const std::string page = content_of(file_);
  for (const char* part : {"Content-Security-Policy", "vegaEmbed", "vegaLite", "function showDecay",
                           "--accent:", "University of Washington Interactive Data Lab"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  for (const char* outside : {"src=\"http", "<link rel=\"stylesheet\"", "@import"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
}

TEST_F(ReportTest, AStudyInTwoFoldersIsThereTwice) {
  const auto one = study("one", "decay", "BN"), two = study("two", "decay", "LS-1/64");
  write_report({one, two}, file_);
  const json studies = data()["studies"];
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies[0]["folder"], one.string());
  EXPECT_EQ(studies[1]["folder"], two.string());
}

TEST_F(ReportTest, AFolderGivenTwiceIsThereOnce) {
  const auto folder = study("a", "decay", "BN");
  write_report({folder, folder / "."}, file_);
  EXPECT_EQ(data()["studies"].size(), 1u);
}

TEST_F(ReportTest, AFolderWithoutStudiesIsNamedAndTheOldReportKept) {
  write_report({study("a", "decay", "BN")}, file_);
  const auto before = content_of(file_);
  std::filesystem::create_directory(folder_ / "empty");
  expect_error([&] { write_report({folder_ / "a", folder_ / "empty"}, file_); }, {"empty", "no study", "--out DIR"});
  expect_error([&] { write_report({folder_ / "nowhere"}, file_); }, {"nowhere", "no folder", "--out DIR"});
  record::write_content(folder_ / "a" / "decay.jsonl", "{\"kind\":\"end\"}\n");
  expect_error([&] { write_report({folder_ / "a"}, file_); }, {"decay.jsonl:1"});
  EXPECT_EQ(content_of(file_), before);
}

TEST_F(ReportTest, AFullDiskLeavesTheOldReport) {
  const auto folder = study("a", "decay", "BN");
  record::write_content(file_, "old");
  {
    const record::FullDisk full(1000);
    expect_error([&] { write_report({folder}, file_); }, {"report.html"});
  }
  EXPECT_EQ(content_of(file_), "old");
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".part"));
}

}  // namespace
}  // namespace samplenorm::report
