#include "bench/seconds_record.h"

#include <nlohmann/json.hpp>

#include "bench/quartiles.h"

namespace samplenorm::bench {

using nlohmann::json;

json spread(const std::vector<double>& seconds) {
  const auto found = quartiles(seconds);
  return {{"q1", found.first}, {"median", found.median}, {"q3", found.third}, {"values", seconds}};
}

json phase_spreads(const Seconds& seconds) {
  return {{"rounds", seconds.both.size()},
          {"forward", spread(seconds.forward)},
          {"backward", spread(seconds.backward)},
          {"both", spread(seconds.both)}};
}

}  // namespace samplenorm::bench
