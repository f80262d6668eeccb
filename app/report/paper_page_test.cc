#include "report/paper_page.h"

#include <gtest/gtest.h>

#include "report/markdown.h"
#include "report/testing.h"

namespace samplenorm::report {
namespace {

void expect_in(const std::string& page, std::initializer_list<const char*> texts) {
  for (const auto* text : texts) EXPECT_NE(page.find(text), std::string::npos) << text << "\nis not in\n" << page;
}

nlohmann::json network(const std::string& model, double speed) {
  return {{"model", model},
          {"batch", 32},
          {"side", 112},
          {"reference", "torch"},
          {"steps",
           {{{"norm", "torch"}, {"step_speed", 1.0}, {"layers_speed", 1.0}},
            {{"norm", "LS-1/64"}, {"step_speed", speed}, {"layers_speed", 2 * speed}}}}};
}

TEST(PaperPage, ShowsClaimsAndFigures) {
  TestStudies studies;
  studies.study("accuracy").runs("BN", {0.50, 0.52, 0.54}).runs("LS-1/64", {0.55, 0.56}).broken_run("LS-1/64");
  studies.study("decay").runs("BS-1/128", {0.4}, {{"alpha", 0.7}});
  studies.study("micro").runs("GN-8", {0.4}, {{"gradient_batch", 256}, {"statistic_batch", 4}});
  studies.study("speed").add(network("resnet18", 1.25));
  const auto page = paper_page(studies.all());
  expect_in(page, {"# The paper, reproduced", "## What was run", "| accuracy | quick | a CPU |",
                   "`samplenorm study accuracy --quick`", "## Speed", "| `BN` | 100.0 % | 52.0 ± 5.0 % |", "| 3 | 1 |",
                   "| `BS-1/128` | 0.7 |", "| `GN-8` | (256, 4) |", "| `LS-1/64` | 2.50× | 1.25× |",
                   "ResNet-18, batches of 32 images of 112 x 112, speed to `torch`:", "does not hold here"});
}

TEST(PaperPage, SaysWhatRanByTheProgramsThatLedToResults) {
  record::StudyRecords records{"speed", "quick", {}, {}};
  for (const auto* date :
       {"2025-01-31T08:00:00Z", "2025-01-31T09:00:00Z", "2025-02-01T08:00:00Z", "2025-02-02T08:00:00Z"})
    records.begins.push_back(
        {{"date", date}, {"commit", "abc"}, {"cpu", "x_86"}, {"command", "a/samplenorm study speed --quick"}});
  records.results = {{{}, 0}, {{}, 1}, {{}, 2}};
  const record::StudyRecords begun{"cost", "quick", {{{"cpu", "x"}}}, {}};
  EXPECT_EQ(paper_page({begun, records}).find("| cost | quick"), std::string::npos) << "it has no results yet";
  expect_in(paper_page({records}),
            {"| speed | quick | x\\_86 | abc | 2025-01-31, 2025-02-01 | `samplenorm study speed --quick` |"});
}

TEST(PaperPage, CountsVerdicts) {
  const auto claims = judge({});
  const auto page = paper_page({});
  expect_in(page, {"Nothing yet.", "0 hold here, 0 do not hold here"});
  EXPECT_NE(page.find("Of " + std::to_string(claims.size()) + " claims"), std::string::npos);
}

TEST(PaperPage, ErrorsAndPlacesHaveTables) {
  TestStudies studies;
  studies.study("error")
      .add({{"part", "layers"},
            {"norm", "FS-1/32"},
            {"mean_errors", {{{"median", 0.25}}}},
            {"mean_correlation_average", 0.125}})
      .add({{"part", "variance"}, {"points", {{{"pattern", "patch"}, {"s", 16}, {"measured", 0.5}}}}})
      .add({{"part", "moving_average"}, {"points", {{{"alpha", 0.5}, {"measured", 0.3}, {"predicted", 0.333}}}}});
  studies.study("regularity")
      .add({{"part", "places"},
            {"format", "channels_last"},
            {"places", {{{"pattern", "patch"}, {"index", "shared"}, {"redrawn", "static"}, {"cost", 1.0}}}}});
  studies.study("cost").add(
      {{"model", "resnet50"}, {"batch", 8}, {"side", 64}, {"norms", {{{"norm", "torch"}, {"speed", 0.75}}}}});
  expect_in(paper_page(studies.all()),
            {"| `FS-1/32` | 0.25 | – | 0.125 |", "| patch | 16 | 0.5 |", "| 0.5 | 0.3 | 0.333 |",
             "| patch | shared | static | 1.00× |", "channels\\_last", "| `torch` | – | 0.75× | 25.0 % |"});
}

TEST(PaperPage, NothingInRecordsIsMarkup) {
  TestStudies studies;
  studies.study("accuracy").runs("BN", {0.5}, {{"model", "a|b<c>*_d_*"}});
  const auto page = paper_page(studies.all());
  EXPECT_EQ(page.find("a|b"), std::string::npos);
  expect_in(page, {"a\\|b\\<c\\>\\*\\_d\\_\\*"});
}

TEST(PaperPage, TablesHaveAsManyCellsInEachRow) {
  TestStudies studies;
  studies.study("accuracy")
      .runs("BN", {0.5})
      .runs("BS|x", {0.4})
      .study("decay")
      .runs("BS-1/128", {0.4}, {{"alpha", 0.7}});
  const auto page = paper_page(studies.all());
  size_t cells = 0, tables = 0;
  for (size_t begin = 0, end; (end = page.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const auto line = page.substr(begin, end - begin);
    size_t bars = 0;
    for (size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    if (line.starts_with("|") && cells > 0) {
      EXPECT_EQ(bars, cells) << line;
    }
    tables += line.starts_with("|") && cells == 0;
    cells = line.starts_with("|") ? bars : 0;
  }
  EXPECT_GT(tables, 8u);
}

TEST(ReadmeTable, HasOnlyColumnsWithFigures) {
  TestStudies studies;
  EXPECT_EQ(readme_table(studies.all()), "No study was run yet.\n");
  studies.study("speed").add(network("resnet18", 1.25));
  EXPECT_EQ(readme_table(studies.all()),
            "| norm | training step, ResNet-18 | normalization, ResNet-18 |\n| --- | --- | --- |\n"
            "| `torch` | 1.00× | 1.00× |\n| `LS-1/64` | 1.25× | 2.50× |\n");
  studies.study("accuracy").runs("BN", {0.5}).runs("LS-1/64", {0.6});
  expect_in(readme_table(studies.all()), {"| norm | accuracy, ResNet-8 (quick form) | training step",
                                          "| `BN` | 50.0 % | – | – |", "| `LS-1/64` | 60.0 % | 1.25× | 2.50× |"});
}

TEST(Markdown, LinesAreWrappedByCharacters) {
  const std::string word(64, 'x');
  EXPECT_EQ(wrapped(word + " " + word + " " + word, "  "), word + " " + word + "\n  " + word + "\n");
  std::string sign;
  for (int i = 0; i < 64; ++i) sign += "±";
  EXPECT_EQ(wrapped(sign + " " + sign), sign + " " + sign + "\n");
}

}  // namespace
}  // namespace samplenorm::report
