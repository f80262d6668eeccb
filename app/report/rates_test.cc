#include "report/rates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace samplenorm::report {
namespace {

using nlohmann::json;

json run(const std::string& norm, double rate, int seed, double top1) {
  return {{"norm", norm}, {"rate", rate}, {"seed", seed}, {"top1", top1}, {"model", "resnet20"}, {"data", "cifar10"}};
}

std::vector<record::StudyRecords> study_of(const std::vector<json>& runs) {
  record::StudyRecords study{.study = "accuracy", .scale = "standard", .begins = {json::object()}, .results = {}};
  for (const auto& fields : runs) study.results.push_back({fields, 0});
  return {study};
}

TEST(Rates, OfANormTheBetterOneIsItsOwn) {
  auto broken = run("FS-1/64", 0.2, 1, 0);
  broken["top1"] = nullptr;
  broken["failed"] = "the loss is nan";
  const auto studies = study_of({run("BN", 0.2, 1, 0.9), run("BN", 0.05, 1, 0.8), run("BN", 0.2, 2, 0.7), broken,
                                 run("FS-1/64", 0.05, 1, 0.1), run("LS-1/64", 0.05, 1, 0.5)});
  const auto own = at_own_rates(studies);
  std::vector<std::pair<std::string, double>> found;
  for (const auto& result : own[0].results)
    found.emplace_back(result.fields["norm"].get<std::string>(), result.fields["rate"].get<double>());
  EXPECT_EQ(found, (std::vector<std::pair<std::string, double>>{
                       {"BN", 0.2}, {"BN", 0.2}, {"FS-1/64", 0.05}, {"LS-1/64", 0.05}}));
  const auto table = rates_table(studies);
  EXPECT_NE(table.find("| rate 0.2 | rate 0.05 |"), std::string::npos) << table;
  EXPECT_NE(table.find("90.00 % | 80.00 %"), std::string::npos) << table;
  EXPECT_NE(table.find("broke off | 10.00 %"), std::string::npos) << table;
  EXPECT_EQ(table.find("LS-1/64"), std::string::npos) << table;
}

TEST(Rates, WithOneRateAllRunsStay) {
  const auto studies = study_of({run("BN", 0.1, 1, 0.9), run("BN", 0.1, 2, 0.8)});
  EXPECT_EQ(at_own_rates(studies)[0].results.size(), 2u);
  EXPECT_EQ(rates_table(studies), "");
}

}  // namespace
}  // namespace samplenorm::report
