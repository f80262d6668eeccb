#pragma once

// One file a study (claims_cost.cc, ...): each appends its claims.

#include <vector>

#include "record/study_file.h"
#include "report/claims.h"

namespace samplenorm::report {

using Studies = std::vector<record::StudyRecords>;

void judge_cost(const Studies& studies, std::vector<Claim>& claims);
void judge_accuracy(const Studies& studies, std::vector<Claim>& claims);
/// Of the study `accuracy`, what the paper shows on ImageNet only.
void judge_imagenet(const Studies& studies, std::vector<Claim>& claims);
void judge_curves(const Studies& studies, std::vector<Claim>& claims);
void judge_error(const Studies& studies, std::vector<Claim>& claims);
/// Of the study `error`, what the appendix derives.
void judge_formulas(const Studies& studies, std::vector<Claim>& claims);
void judge_speed(const Studies& studies, std::vector<Claim>& claims);
void judge_regularity(const Studies& studies, std::vector<Claim>& claims);
void judge_decay(const Studies& studies, std::vector<Claim>& claims);
void judge_micro(const Studies& studies, std::vector<Claim>& claims);

}  // namespace samplenorm::report
