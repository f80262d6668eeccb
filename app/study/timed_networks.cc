#include "study/timed_networks.h"

#include <fmt/format.h>

#include "bench/profile_record.h"
#include "bench/quartiles.h"
#include "models/model.h"

namespace samplenorm::study {
namespace {

using nlohmann::json;

constexpr int64_t kSmallImages = 64;  // below this side

}  // namespace

std::vector<bench::StepCase> step_cases(const StudyOptions& options, const std::vector<std::string>& usual) {
  std::vector<bench::StepCase> cases;
  for (const auto& model : options.models.empty() ? usual : options.models) {
    const int64_t own = models::model_info(model).side;
    const bool small = own < kSmallImages;
    const int64_t side = options.side > 0 ? options.side : small || options.scale == Scale::kFull ? own : own / 2;
    cases.push_back(bench::make_step_case(model, options.batch > 0 ? options.batch : small ? 128 : 32, side));
  }
  return cases;
}

json describe(const bench::StepCase& step) {
  return {{"model", step.model}, {"batch", step.images.size(0)}, {"side", step.images.size(3)}};
}

json profile_fields(Study& study, const bench::StepCase& step, const std::vector<std::string>& norms) {
  const auto effort = study.options().scale == Scale::kFull ? bench::kProfileEffort : bench::kQuickEffort;
  const auto profile =
      bench::measure_profile(step, norms, effort, [&](int64_t done, int64_t total, const std::string& what) {
        study.watcher().on_progress(done, total, what);
        study.check_stop();
      });
  json fields = describe(step);
  fields.update(bench::profile_record(profile));
  for (size_t i = 0; i < norms.size(); ++i) {
    auto& record = fields["steps"][i];
    const auto seconds = [&](size_t norm) { return bench::layers_seconds(profile, norm, &bench::Seconds::both); };
    record["layers_speed"] = seconds(0) / seconds(i);
    record["step_speed"] = bench::median_ratio(profile.steps[0].both, profile.steps[i].both);
    study.watcher().on_result(fmt::format("{}: layers {:.2f}, step {:.2f} times as fast as {}", norms[i],
                                          record["layers_speed"].get<double>(), record["step_speed"].get<double>(),
                                          norms[0]));
  }
  return fields;
}

}  // namespace samplenorm::study
