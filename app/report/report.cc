#include "report/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "record/output_file.h"
#include "record/study_file.h"
#include "report/claims.h"
#include "report/page.h"
#include "report/rates.h"
#include "report/web_files.h"
#include "samplenorm/error.h"

namespace samplenorm::report {
namespace {

using nlohmann::json;
using record::StudyRecords;

constexpr const char* kRightFolders = "give folders that samplenorm study NAME --out DIR has written";

std::vector<StudyRecords> studies_in(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    throw Error(fmt::format("there is no folder {}; {}", folder.string(), kRightFolders));
  auto studies = at_own_rates(record::read_studies(folder));
  if (studies.empty()) throw Error(fmt::format("no study (*.jsonl) is in {}; {}", folder.string(), kRightFolders));
  return studies;
}

json to_json(const StudyRecords& study, const std::filesystem::path& folder) {
  json record{{"folder", folder.string()}, {"study", study.study}, {"scale", study.scale}, {"begins", study.begins}};
  record["results"] = json::array();
  for (const auto& result : study.results) {
    record["results"].push_back(result.fields);
    record["results"].back()["begin"] = result.begin;
  }
  return record;
}

json read_all(const std::vector<std::filesystem::path>& folders) {
  json shown = json::array(), claims = json::array();
  std::vector<StudyRecords> all;
  std::set<std::filesystem::path> seen;
  for (const auto& folder : folders) {
    auto studies = studies_in(folder);
    if (!seen.insert(std::filesystem::canonical(folder)).second) continue;
    for (auto& study : studies) {
      shown.push_back(to_json(study, folder));
      all.push_back(std::move(study));
    }
  }
  for (const auto& claim : judge(all)) claims.push_back(to_json(claim));
  return {{"studies", std::move(shown)}, {"claims", std::move(claims)}};
}

}  // namespace

void write_report(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& file) {
  const std::string data = json_for_html(read_all(folders));
  auto parts = web_files();
  parts["data"] = data;
  const std::string page = fill(parts.at("page.html"), parts);
  record::AtomicFile out(file);
  out.write(page);
  out.commit();
}

}  // namespace samplenorm::report
