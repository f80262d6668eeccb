#include "samplers/sizes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace samplenorm {

int64_t share_of(int64_t count, Ratio ratio) {
  const auto nearest =
      std::llround(static_cast<double>(count) * static_cast<double>(ratio.part) / static_cast<double>(ratio.whole));
  return std::clamp<int64_t>(nearest, 1, std::max<int64_t>(count, 1));
}

std::array<int64_t, 3> nearest_sides(double points, const Shape& shape) {
  std::array<int64_t, 3> best = {1, 1, 1};
  auto best_cost = std::tuple(INFINITY, INFINITY, 0.0);
  for (int64_t depth = 1; depth <= shape.depth; ++depth) {
    for (int64_t height = 1; height <= shape.height; ++height) {
      const double exact_width = points / static_cast<double>(depth * height);
      const auto below = static_cast<int64_t>(std::min<double>(exact_width, static_cast<double>(shape.width)));
      for (const int64_t side : {below, below + 1}) {
        const int64_t width = std::clamp<int64_t>(side, 1, shape.width);
        const double off = std::abs(static_cast<double>(depth * height * width) - points);
        // A map without depth is flat: its side of 1 is given, not chosen.
        const auto [least, most] = shape.depth > 1 ? std::minmax({depth, height, width}) : std::minmax({height, width});
        const auto cost =
            std::tuple(static_cast<float>(off), static_cast<float>(most - least), static_cast<double>(height - width));
        if (cost < best_cost) {
          best_cost = cost;
          best = {depth, height, width};
        }
      }
    }
  }
  return best;
}

}  // namespace samplenorm
