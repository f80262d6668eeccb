#include "report/claims.h"

#include "report/claims_by_study.h"

namespace samplenorm::report {

std::vector<Claim> judge(const std::vector<record::StudyRecords>& studies) {
  std::vector<Claim> claims;
  for (const auto judge_study : {judge_cost, judge_accuracy, judge_imagenet, judge_curves, judge_error, judge_formulas,
                                 judge_speed, judge_regularity, judge_decay, judge_micro})
    judge_study(studies, claims);
  return claims;
}

nlohmann::json to_json(const Claim& claim) {
  return {{"study", claim.study},     {"where", claim.where},     {"claim", claim.claim},
          {"paper", claim.paper},     {"here", claim.here},       {"difference", claim.difference},
          {"verdict", claim.verdict}, {"command", claim.command}, {"note", claim.note}};
}

}  // namespace samplenorm::report
