// Fig. 8c: what a regular pattern, a static index and one that channels share are worth.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/claims_by_study.h"
#include "report/comparisons.h"
#include "report/network_speeds.h"

namespace samplenorm::report {
namespace {

using Rule = std::optional<Finding>;
using nlohmann::json;

// A difference counts from 2 % on; a lattice costs what a patch costs if it is at most a tenth dearer.
constexpr double kNoticeable = 1.02, kSameCost = 1.1;

/// Ways of gathering, each with the `format` of its result.
std::vector<json> places_of(const Studies& studies) {
  for (const auto* source : records_of(studies, "regularity")) {
    std::vector<json> all;
    for (const auto& result : source->results)
      if (text_in(result.fields, "part") == "places" && result.fields.contains("places"))
        for (json place : result.fields["places"]) {
          place["format"] = text_in(result.fields, "format");
          all.push_back(std::move(place));
        }
    if (!all.empty()) return all;
  }
  return {};
}

/// The cost of `slow` to `fast`, two values of `key`, in all pairs of places that are otherwise alike.
std::vector<double> ratios(const std::vector<json>& places, const char* key, const char* slow, const char* fast) {
  std::vector<double> found;
  for (const auto& a : places)
    for (const auto& b : places) {
      if (text_in(a, key) != slow || text_in(b, key) != fast) continue;
      const bool alike = [&] {
        for (const auto* other : {"format", "pattern", "index", "redrawn"})
          if (std::string(other) != key && text_in(a, other) != text_in(b, other)) return false;
        return true;
      }();
      const double ratio = number_in(a, "cost") / number_in(b, "cost");
      if (alike && !std::isnan(ratio)) found.push_back(ratio);
    }
  return found;
}

std::string with_range(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (values.size() == 1) return times(values.front());
  return fmt::format("{} the time ({} to {})", times(geometric_mean(values)), times(*least), times(*most));
}

/// Holds if the geometric mean of all pairs is noticeably above 1.
Rule costs_more(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return Finding{
      geometric_mean(values) > kNoticeable, with_range(values), "",
      fmt::format("Geometric mean of {} pairs that are otherwise alike; needed: more than 2 %.", values.size())};
}

Rule costs_the_same(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return Finding{geometric_mean(values) <= kSameCost, with_range(values), "", "Allowed: a tenth more."};
}

/// A lattice is meant for channels_last, where a point is whole cache lines.
std::vector<json> static_in_channels_last(std::vector<json> places) {
  std::erase_if(places, [](const json& place) {
    return text_in(place, "format") != "channels_last" || text_in(place, "redrawn") != "static" ||
           text_in(place, "index") != "shared";
  });
  return places;
}

std::string layers_note(const std::vector<NetworkSpeeds>& networks) {
  std::string note;
  for (const auto& network : networks) {
    std::vector<std::string> texts;
    for (const auto& norm : network.norms) texts.push_back(fmt::format("{} {}", norm.norm.text, times(norm.layers)));
    note += fmt::format(" Whole layers of {}, speed to {}: {}.", model_name(network.model), network.reference,
                        fmt::join(texts, ", "));
  }
  return note;
}

}  // namespace

void judge_regularity(const Studies& studies, std::vector<Claim>& claims) {
  const auto places = places_of(studies);
  const auto sources = records_of(studies, "regularity");
  Judge judge(
      claims, "regularity", sources.empty() ? nullptr : sources.front(),
      "Here: a CPU, the time to gather a layer's statistics. The paper: the training speed of ResNet-18 with FS-1/32 "
      "on V100 GPUs." +
          layers_note(network_speeds(studies, "regularity")));
  judge.add("Fig. 8c", "Scattered points take longer than a patch.", "longer",
            costs_more(ratios(places, "pattern", "scattered", "patch")));
  judge.add("Fig. 8c", "An index that is redrawn at each step takes longer than a static one.", "longer",
            costs_more(ratios(places, "redrawn", "each step", "static")));
  judge.add("Section 4.1", "An index for each channel takes longer than one that all share.", "longer",
            costs_more(ratios(places, "index", "per channel", "shared")));
  judge.add("ours", "In channels_last memory a lattice costs what a patch costs.", "",
            costs_the_same(ratios(static_in_channels_last(places), "pattern", "lattice", "patch")));
}

}  // namespace samplenorm::report
