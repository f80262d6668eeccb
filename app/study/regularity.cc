// Fig. 8c: what a regular pattern and a static index are worth. Whole layers with our kernels, for the methods that
// there are; and the gathering of statistics alone by one plain loop over a list of places, for those that there are
// not: places of its own for every channel.

#include <fmt/format.h>

#include "bench/quartiles.h"
#include "bench/rounds.h"
#include "bench/seconds_record.h"
#include "bench/stopwatch.h"
#include "study/places.h"
#include "study/tasks.h"
#include "study/timed_networks.h"
#include "study/training_runs.h"

namespace samplenorm::study {
namespace {

using nlohmann::json;

constexpr const char* kRatio = "1/32";
constexpr int kRounds = 9;

/// As in the first stage of ResNet-18.
torch::Tensor activations(const StudyOptions& options, torch::MemoryFormat format) {
  const int64_t batch = options.batch > 0 ? options.batch : 32, side = options.side > 0 ? options.side : 56;
  return torch::randn({batch, 64, side, side}).contiguous(format);
}

struct Contest {
  PlacesOptions options;
  Places places;
  std::vector<double> seconds = {};
};

double gathering_seconds(Contest& contest, const torch::Tensor& x, uint64_t step) {
  const bench::Stopwatch watch;
  if (contest.options.each_step) contest.places = draw_places(contest.options, x.sizes(), step);
  gather_statistics(x, contest.places);
  return watch.seconds();
}

json time_places(Study& study, torch::MemoryFormat format, const std::string& format_name) {
  const auto x = activations(study.options(), format);
  std::vector<Contest> contests;
  for (const bool per_channel : {false, true})
    for (const bool each_step : {false, true})
      for (const auto& [pattern, method] : {std::pair("patch", "FS"), {"lattice", "LS"}, {"scattered", "FRS"}}) {
        const PlacesOptions options{pattern, fmt::format("{}-{}", method, kRatio), per_channel, each_step};
        contests.push_back({options, draw_places(options, x.sizes(), 0)});
      }
  for (int round = 0; round < kRounds; ++round) {
    study.check_stop();
    for (const size_t turn : bench::shuffled(contests.size(), static_cast<size_t>(round)))
      contests[turn].seconds.push_back(gathering_seconds(contests[turn], x, round));
    study.watcher().on_progress(round + 1, kRounds, "rounds");
  }
  json fields{{"part", "places"}, {"format", format_name}, {"shape", x.sizes().vec()}, {"places", json::array()}};
  for (const auto& [options, places, seconds] : contests) {
    const double cost = bench::median_ratio(seconds, contests.front().seconds);
    fields["places"].push_back({{"pattern", options.pattern},
                                {"index", options.per_channel ? "per channel" : "shared"},
                                {"redrawn", options.each_step ? "each step" : "static"},
                                {"seconds", bench::spread(seconds)},
                                {"cost", cost}});
    study.watcher().on_result(fmt::format("{}, {}, {}: {:.1f} times the cost of a static patch", options.pattern,
                                          options.per_channel ? "per channel" : "shared",
                                          options.each_step ? "redrawn each step" : "static", cost));
  }
  return fields;
}

json time_layers(Study& study, const bench::StepCase& step) {
  const auto norms = norms_or(study.options(), {"FS-1/32", "FS-1/32;redraw=step", "LS-1/32", "LS-1/32;redraw=step",
                                                "FRS-1/32", "FRS-1/32;redraw=step", "BN"});
  json fields = profile_fields(study, step, norms);
  fields["part"] = "layers";
  return fields;
}

}  // namespace

std::vector<Study::Task> regularity_tasks(Study& study) {
  const auto step = step_cases(study.options(), {"resnet18"}).front();
  return {
      {"layers", [&study, step] { return time_layers(study, step); }},
      {"places, channels_last",
       [&study] { return time_places(study, torch::MemoryFormat::ChannelsLast, "channels_last"); }},
      {"places, contiguous", [&study] { return time_places(study, torch::MemoryFormat::Contiguous, "contiguous"); }}};
}

}  // namespace samplenorm::study
