#include "report/documents.h"

#include <gtest/gtest.h>

#include "record/test_folder.h"
#include "report/paper_page.h"
#include "report/testing.h"

namespace samplenorm::report {
namespace {

using DocumentsTest = record::TestFolder;
using record::content_of;
using record::expect_error;
using record::write_content;

TEST_F(DocumentsTest, ThePageIsWritten) {
  write_paper_page({}, folder_ / "paper.md");
  EXPECT_EQ(content_of(folder_ / "paper.md"), paper_page({}));
}

TEST_F(DocumentsTest, OnlyWhatIsBetweenTheLinesIsReplaced) {
  const auto file = folder_ / "README.md";
  const std::string before = std::string("# A\n\n") + kTableBegin, after = std::string(kTableEnd) + "\nThe rest.\n";
  write_content(file, before + "old\n" + after);
  TestStudies studies;
  studies.study("accuracy").runs("BN", {0.5});
  for (int time = 0; time < 2; ++time) {
    update_readme(studies.all(), file);
    EXPECT_EQ(content_of(file), before + "\n" + readme_table(studies.all()) + "\n" + after);
  }
}

TEST_F(DocumentsTest, WithoutTheLinesTheFileStaysAsItIs) {
  const auto file = folder_ / "README.md";
  for (const auto& text : {std::string("nothing\n"), std::string(kTableBegin), std::string(kTableEnd) + kTableBegin}) {
    write_content(file, text);
    expect_error([&] { update_readme({}, file); }, {"README.md", "studies: begin", "studies: end"});
    EXPECT_EQ(content_of(file), text);
  }
  expect_error([&] { update_readme({}, folder_ / "none.md"); }, {"cannot read", "none.md"});
}

}  // namespace
}  // namespace samplenorm::report
