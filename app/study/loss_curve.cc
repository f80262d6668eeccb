#include "study/loss_curve.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace samplenorm::study {

nlohmann::json loss_curve(const std::vector<double>& losses) {
  constexpr size_t kPoints = 100;
  const size_t points = std::min(kPoints, losses.size());
  nlohmann::json curve{{"steps", nlohmann::json::array()}, {"losses", nlohmann::json::array()}};
  for (size_t i = 0; i < points; ++i) {
    const size_t begin = losses.size() * i / points, end = losses.size() * (i + 1) / points;
    const double sum = std::accumulate(losses.data() + begin, losses.data() + end, 0.0);
    curve["steps"].push_back(end);
    curve["losses"].push_back(sum / static_cast<double>(end - begin));
  }
  return curve;
}

}  // namespace samplenorm::study
