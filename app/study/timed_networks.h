#pragma once

// Studies that time training steps: which networks, with which images.

#include <string>
#include <vector>

#include "bench/network_contenders.h"
#include "bench/profile.h"
#include "study/study.h"

namespace samplenorm::study {

/// The options' networks, or else these, each with images of its size: at quick scale those for ImageNet see images of
/// 112 x 112, a quarter of the work at the same batch, so that BS-4/128 still takes 1 row of 32.
std::vector<bench::StepCase> step_cases(const StudyOptions& options, const std::vector<std::string>& usual);

/// "model", "batch", "side".
nlohmann::json describe(const bench::StepCase& step);

/// Layers and whole steps with each norm, as a record's fields; the first norm is the reference.
nlohmann::json profile_fields(Study& study, const bench::StepCase& step, const std::vector<std::string>& norms);

}  // namespace samplenorm::study
