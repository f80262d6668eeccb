#include "nn/few_points.h"

#include <c10/util/Exception.h>

#include <cstdint>
#include <numeric>

namespace samplenorm {

static constexpr int64_t kFew = 32;

std::optional<int64_t> fewest_points(const Plan& plan, int64_t processes) {
  std::optional<int64_t> fewest;
  for (size_t k = 0; k + 1 < plan.rows.size(); ++k) {
    const auto first = plan.counts.begin() + static_cast<int64_t>(k) * plan.sizes.groups;
    const int64_t points = std::accumulate(first, first + plan.sizes.groups, int64_t{0});
    const bool whole = points >= (plan.rows[k + 1] - plan.rows[k]) * plan.map_points;
    // Without points, other processes have them.
    if (!whole && points > 0 && points * processes < fewest.value_or(INT64_MAX)) fewest = points * processes;
  }
  return fewest;
}

bool PointsWatch::report(const std::string& layer, const std::string& spec, std::optional<int64_t> points) {
  const std::lock_guard lock(mutex_);
  if (done_) return true;
  const bool is_new = reports_.try_emplace(layer, Report{spec, points}).second;
  if (is_new && reports_.size() < layers_) return false;
  done_ = true;
  warn();
  return true;
}

void PointsWatch::warn() const {
  const std::pair<const std::string, Report>* worst = nullptr;
  int64_t few = 0;
  for (const auto& entry : reports_) {
    if (entry.second.points.value_or(kFew) >= kFew) continue;
    ++few;
    if (!worst || *entry.second.points < *worst->second.points) worst = &entry;
  }
  if (!worst) return;
  const auto& [name, report] = *worst;
  const std::string where = name.empty() ? "a layer" : "layer " + name;
  const std::string others = c10::str(" (", few, " of ", reports_.size(), " layers have fewer than ", kFew, ")");
  TORCH_WARN("samplenorm: '", report.spec, "' takes the statistics of ", where, " from ", *report.points,
             " points a channel", layers_ == 1 ? "" : others, ". So few points give noisy statistics. ",
             report.spec.starts_with("VDN") ? "More virtual rows give more points"
                                            : "';least=32' in the notation asks for more",
             "; LS-1/64 takes 1,024 where the layer has them.");
}

}  // namespace samplenorm
