#pragma once

// Records of studies in memory, for tests.

#include <initializer_list>
#include <string>
#include <vector>

#include "report/claims.h"

namespace samplenorm::report {

class TestStudies {
 public:
  /// All results that are added next are of this study.
  TestStudies& study(const std::string& name, const std::string& scale = "quick") {
    studies_.push_back({name, scale, {{{"kind", "begin"}, {"cpu", "a CPU"}}}, {}});
    return *this;
  }
  TestStudies& add(nlohmann::json fields) {
    studies_.back().results.push_back({std::move(fields), 0});
    return *this;
  }
  /// Runs of ResNet-8 on `data`, a seed for each accuracy.
  TestStudies& runs(const std::string& norm, std::initializer_list<double> accuracies, nlohmann::json more = {},
                    const std::string& data = "cifar10") {
    for (const double top1 : accuracies)
      add(run(norm, data, more, {{"top1", top1}, {"recalibrated_top1", top1}, {"train_loss", 1.0}}));
    return *this;
  }
  TestStudies& broken_run(const std::string& norm, nlohmann::json more = {}) {
    return add(run(norm, "cifar10", more, {{"failed", "the loss is not a number"}}));
  }

  const std::vector<record::StudyRecords>& all() const { return studies_; }

  /// The one claim whose sentence has this in it.
  Claim claim(const std::string& words) const {
    std::vector<Claim> found;
    for (auto& claim : judge(studies_))
      if (claim.claim.find(words) != std::string::npos) found.push_back(claim);
    if (found.size() == 1) return found.front();
    Claim none;
    none.verdict = std::to_string(found.size()) + " such claims";
    return none;
  }
  std::string verdict(const std::string& words) const { return claim(words).verdict; }

 private:
  static nlohmann::json run(const std::string& norm, const std::string& data, const nlohmann::json& more,
                            const nlohmann::json& outcome) {
    nlohmann::json fields{{"model", "resnet8"}, {"data", data}, {"images", 100}, {"epochs", 2}, {"norm", norm}};
    fields.update(outcome);
    if (!more.is_null()) fields.update(more);
    return fields;
  }

  std::vector<record::StudyRecords> studies_;
};

}  // namespace samplenorm::report
