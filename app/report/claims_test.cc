#include "report/claims.h"

#include <gtest/gtest.h>

#include <set>

#include "report/testing.h"
#include "report/verdict.h"

namespace samplenorm::report {
namespace {

TEST(Claims, WithoutRecordsNothingIsJudged) {
  std::set<std::string> sentences;
  for (const auto& claim : judge({})) {
    EXPECT_TRUE(claim.verdict == kNotRunYet || claim.verdict == kCannotBeRun) << claim.claim;
    EXPECT_EQ(claim.here + claim.difference, "") << claim.claim;
    EXPECT_TRUE(claim.where == "ours" || !claim.paper.empty()) << claim.claim;
    EXPECT_EQ(claim.command, "samplenorm study " + claim.study + " --quick");
    EXPECT_NE(claim.note, "") << claim.claim;
    EXPECT_TRUE(sentences.insert(claim.claim).second) << "twice: " << claim.claim;
  }
}

TEST(Claims, EveryTableFigureAndFormulaOfThePaperIsThere) {
  std::set<std::string> where;
  for (const auto& claim : judge({})) where.insert(claim.where);
  for (const auto* place :
       {"Fig. 1a", "Fig. 3", "Fig. 4", "Fig. 5", "Fig. 6", "Fig. 7", "Fig. 8a", "Fig. 8b", "Fig. 8c", "Fig. 9",
        "Fig. 10", "Table 2", "Table 3", "Appendix C.1", "Appendix C.2", "Appendix D", "ours"})
    EXPECT_TRUE(where.contains(place)) << place;
}

TEST(Claims, JsonHasNineTexts) {
  const auto nine = to_json(Claim{"a", "b", "c", "d", "e", "f", "g", "h", "i"});
  EXPECT_EQ(nine, (nlohmann::json{{"study", "a"},
                                  {"where", "b"},
                                  {"claim", "c"},
                                  {"paper", "d"},
                                  {"here", "e"},
                                  {"difference", "f"},
                                  {"verdict", "g"},
                                  {"command", "h"},
                                  {"note", "i"}}));
}

TEST(Claims, RecordsOfStudiesThatAreNoneOfThePapersAreLeftAlone) {
  TestStudies studies;
  studies.study("demo").runs("BN", {0.5}).study("something new").add({{"steps", 3}});
  EXPECT_EQ(judge(studies.all()).size(), judge({}).size());
}

TEST(Claims, RecordsWithoutTheirFieldsAreNotRunYet) {
  TestStudies studies;
  for (const auto* study : {"cost", "accuracy", "curves", "error", "speed", "regularity", "decay", "micro"})
    studies.study(study).add({{"id", "empty"}}).add({{"norm", nullptr}, {"steps", "many"}, {"part", 3}});
  for (const auto& claim : judge(studies.all()))
    EXPECT_TRUE(claim.verdict == kNotRunYet || claim.verdict == kCannotBeRun) << claim.claim;
}

TEST(Claims, TheCommandIsTheRecordsOwnWithoutItsFolders) {
  record::StudyRecords records{
      "speed", "full", {{{"command", "build/bin/samplenorm study speed --full --out here --set a=1"}}}, {}};
  EXPECT_EQ(command_of(records), "samplenorm study speed --full --set a=1");
  records.begins[0]["command"] = "samplenorm study speed --out=here";
  EXPECT_EQ(command_of(records), "samplenorm study speed");
  records.begins[0]["command"] = "samplenorm study cost speed micro --quick --seeds 2";
  EXPECT_EQ(command_of(records), "samplenorm study speed --quick --seeds 2");
  records.begins[0].erase("command");
  EXPECT_EQ(command_of(records), "samplenorm study speed --full");
}

}  // namespace
}  // namespace samplenorm::report
