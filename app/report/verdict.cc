#include "report/verdict.h"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "report/figures.h"

namespace samplenorm::report {

Judge::Judge(std::vector<Claim>& claims, std::string study, const record::StudyRecords* source, std::string set_up,
             const char* missing)
    : claims_(claims),
      study_(std::move(study)),
      command_(source != nullptr ? command_of(*source) : command_of(study_)),
      set_up_(std::move(set_up)),
      missing_(source != nullptr ? kNotRunYet : missing) {}

void Judge::add(std::string where, std::string claim, std::string paper, const std::optional<Finding>& finding) {
  Claim judged{study_, std::move(where), std::move(claim), std::move(paper), "", "", missing_, command_, set_up_};
  if (finding) {
    judged.here = finding->here;
    judged.difference = finding->difference;
    judged.verdict = finding->holds ? kHolds : kDoesNotHold;
    judged.note = sentences({set_up_, finding->note});
  }
  claims_.push_back(std::move(judged));
}

std::string command_of(const record::StudyRecords& source) {
  std::istringstream words(source.begins.empty() ? "" : text_in(source.begins.back(), "command"));
  std::string command, word;
  words >> word;
  command = word.substr(word.rfind('/') + 1);
  for (bool naming_studies = false; words >> word;) {
    if (word == "--out") {
      words >> word;
      continue;
    }
    if (word.starts_with("--out=")) continue;
    naming_studies = naming_studies && !word.starts_with("-");
    if (naming_studies) continue;
    command += " " + word;
    if (word == "study") {
      command += " " + source.study;
      naming_studies = true;
    }
  }
  return command.empty() ? fmt::format("samplenorm study {} --{}", source.study, source.scale) : command;
}

std::string command_of(const std::string& study) { return fmt::format("samplenorm study {} --quick", study); }

std::string sentences(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    if (!all.empty()) all += ' ';
    all += part;
  }
  return all;
}

}  // namespace samplenorm::report
