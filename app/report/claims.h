#pragma once

// Every claim of the paper (and a few of ours) beside what the records of studies say about it.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/study_file.h"

namespace samplenorm::report {

inline constexpr const char* kHolds = "holds here";
inline constexpr const char* kDoesNotHold = "does not hold here";
inline constexpr const char* kCannotBeRun = "cannot be run here";
inline constexpr const char* kNotRunYet = "not run yet";

struct Claim {
  std::string study;       ///< "accuracy"
  std::string where;       ///< in the paper: "Fig. 3"; "ours" for a claim that is not the paper's
  std::string claim;       ///< one sentence
  std::string paper;       ///< the paper's figure as text; empty where it gives none
  std::string here;        ///< ours
  std::string difference;  ///< ours minus the paper's, where both are numbers of the same thing
  std::string verdict;     ///< one of the four above
  std::string command;     ///< what measures it
  std::string note;        ///< what was measured and how that is not the paper's set-up, or why it cannot be
};

/// In the order of the studies' list in docs/studies-format.md. Where records of both scales are there, those of full
/// scale count.
std::vector<Claim> judge(const std::vector<record::StudyRecords>& studies);

nlohmann::json to_json(const Claim& claim);

}  // namespace samplenorm::report
