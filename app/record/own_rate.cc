#include "record/own_rate.h"

#include <algorithm>
#include <utility>

namespace samplenorm::record {

double own_rate(const std::vector<nlohmann::json>& runs) {
  std::pair<double, double> best{-2, 0};  // accuracy, rate
  for (const auto& run : runs) {
    const auto top1 = run.find("top1");
    const bool known = top1 != run.end() && top1->is_number();
    best = std::max(best, std::pair(known ? top1->get<double>() : -1, run.at("rate").get<double>()));
  }
  return best.second;
}

}  // namespace samplenorm::record
