#pragma once

// What a rule finds in records, and how it becomes a claim with a verdict.

#include <optional>
#include <string>
#include <vector>

#include "report/claims.h"

namespace samplenorm::report {

/// A rule's answer. Rules return none where what they need was not measured.
struct Finding {
  bool holds;
  std::string here;
  std::string difference = "";
  std::string note = "";  ///< sentences, after those on the set-up
};

/// Appends claims that share a study, its command and the note on its set-up.
class Judge {
 public:
  /// `source`: the records that the claims are judged by; null where there are none. `missing`: the verdict then. What
  /// only some records lack is not run yet.
  Judge(std::vector<Claim>& claims, std::string study, const record::StudyRecords* source, std::string set_up,
        const char* missing = kNotRunYet);

  void add(std::string where, std::string claim, std::string paper, const std::optional<Finding>& finding);

 private:
  std::vector<Claim>& claims_;
  std::string study_, command_, set_up_;
  const char* missing_;
};

/// The command that made these records, without other studies that it made, the program's folder and --out: where they
/// lie is no matter.
std::string command_of(const record::StudyRecords& source);
/// ... and what would make them where there are none.
std::string command_of(const std::string& study);

/// Sentences with a space between those that are not empty.
std::string sentences(const std::vector<std::string>& parts);

}  // namespace samplenorm::report
