#include "report/paper_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/claims.h"
#include "report/comparisons.h"
#include "report/markdown.h"
#include "report/network_speeds.h"
#include "report/page_tables.h"
#include "report/rates.h"
#include "report/verdict.h"

namespace samplenorm::report {
namespace {

using Studies = std::vector<record::StudyRecords>;
using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kDay = 10;  // "2025-01-31", without the time

struct Part {
  const char *study, *title;
};
constexpr Part kParts[] = {{"cost", "What batch normalization costs"},
                           {"accuracy", "Accuracy against the sampling ratio"},
                           {"curves", "Training curves"},
                           {"error", "Errors of estimated statistics"},
                           {"speed", "Speed"},
                           {"regularity", "Regular patterns and static indices"},
                           {"decay", "Decay of the moving averages"},
                           {"micro", "Statistics of tiny batches"}};

/// What the begins that led to results say, each once, as one text; of each only so many characters.
std::string each_once(const record::StudyRecords& study, const char* key, size_t length = std::string::npos) {
  std::set<size_t> used;
  for (const auto& result : study.results) used.insert(result.begin);
  std::vector<std::string> texts;
  for (const size_t begin : used)
    if (auto text = text_in(study.begins[begin], key).substr(0, length);
        !text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  return escaped(fmt::format("{}", fmt::join(texts, ", ")));
}

std::string what_was_run(const Studies& studies) {
  Rows rows{{"study", "scale", "CPU", "commit", "date", "command"}};
  for (const auto& part : kParts)
    for (const auto* study : records_of(studies, part.study))
      if (!study->results.empty())
        rows.push_back({study->study, escaped(study->scale), each_once(*study, "cpu"), each_once(*study, "commit"),
                        each_once(*study, "date", kDay), code(command_of(*study))});
  return rows.size() < 2 ? "Nothing yet.\n" : markdown_table(rows);
}

std::string summary(const std::vector<Claim>& claims) {
  const auto count = [&](const char* verdict) {
    return std::count_if(claims.begin(), claims.end(), [&](const Claim& claim) { return claim.verdict == verdict; });
  };
  return wrapped(
      fmt::format("Of {} claims, {} hold here, {} do not hold here, {} cannot be run here, {} are not run yet.",
                  claims.size(), count(kHolds), count(kDoesNotHold), count(kCannotBeRun), count(kNotRunYet)));
}

std::string claims_table(const std::vector<Claim>& claims) {
  Rows rows{{"", "where", "claim", "paper", "here", "difference", "verdict"}};
  for (size_t i = 0; i < claims.size(); ++i) {
    const auto& claim = claims[i];
    rows.push_back({fmt::format("{}", i + 1), claim.where, escaped(claim.claim), escaped(claim.paper),
                    escaped(claim.here), escaped(claim.difference),
                    claim.verdict == kHolds ? fmt::format("**{}**", claim.verdict) : claim.verdict});
  }
  return markdown_table(rows);
}

/// How many characters two notes have in common at their beginning, in whole sentences.
size_t common_sentences(const std::string& a, const std::string& b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const size_t same = size_t(in_a - a.begin());
  if (in_a == a.end() || in_b == b.end()) return same;
  const size_t stop = a.substr(0, same).rfind(". ");
  return stop == std::string::npos ? 0 : stop + 1;
}

/// What neighbouring claims share, the set-up, once; then what is left of each note, with its claim's number.
std::string notes_of(const std::vector<Claim>& claims) {
  std::string text;
  for (size_t first = 0; first < claims.size();) {
    size_t last = first + 1, shared = claims[first].note.size();
    for (; last < claims.size(); ++last) {
      const size_t common = std::min(shared, common_sentences(claims[first].note, claims[last].note));
      if (common == 0) break;
      shared = common;
    }
    const auto numbers = last - first == 1 ? fmt::format("{}", first + 1) : fmt::format("{} to {}", first + 1, last);
    text += "\n" + wrapped(fmt::format("{}: {}", numbers, escaped(claims[first].note.substr(0, shared))));
    std::string rest;
    for (size_t i = first; i < last; ++i)
      if (const auto own = claims[i].note.substr(shared); !own.empty())
        rest += wrapped(fmt::format("- {}:{}", i + 1, escaped(own)), "  ");
    if (!rest.empty()) text += "\n" + rest;
    first = last;
  }
  return text;
}

std::string part_of(const Studies& studies, const std::vector<Claim>& all, const Part& part) {
  std::vector<Claim> claims;
  std::copy_if(all.begin(), all.end(), std::back_inserter(claims),
               [&](const Claim& claim) { return claim.study == part.study; });
  return fmt::format("\n## {}\n\n{}\n\n{}{}{}", part.title, code(claims.front().command), claims_table(claims),
                     notes_of(claims), figures_of(studies, part.study));
}

}  // namespace

std::string paper_page(const Studies& all) {
  const auto studies = at_own_rates(all);
  const auto claims = judge(studies);
  std::string page =
      "# The paper, reproduced\n\n" +
      wrapped(
          "Every claim of *Batch Normalization Sampling* (Chen et al. 2018) beside what is measured here; those marked "
          "\"ours\" are not the paper's. Means decide; notes say where 95 % intervals overlap. The rules are in "
          "`app/report/claims_*.cc`. `./run docs` writes this page from `results/studies`.") +
      "\n" + summary(claims) + "\n## What was run\n\n" + what_was_run(studies);
  for (const auto& part : kParts) page += part_of(studies, claims, part);
  if (const auto rates = rates_table(all); !rates.empty())
    page +=
        "\n## How high a rate each norm bears\n\n" +
        wrapped(
            "Top-1 accuracy of the first seed at the recipe's highest learning rate and at a quarter of it. The better "
            "one is the norm's own: all else on this page that was run at the standard scale was run at it.") +
        "\n" + rates;
  return page;
}

}  // namespace samplenorm::report
