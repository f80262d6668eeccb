#pragma once

// How much of the layer at hand a ratio asks for.

#include <array>
#include <cstdint>

#include "samplenorm/notation.h"

namespace samplenorm {

/// `ratio` of `count` things to the nearest whole number, at least 1 and at most `count`.
int64_t share_of(int64_t count, Ratio ratio);

/// Sides {depth, height, width}, none longer than the shape's map, whose product is nearest to `points`; among those
/// the sides nearest to each other, with height <= width where there is a choice: 98 points of a 56 x 56 map are 7
/// x 14.
std::array<int64_t, 3> nearest_sides(double points, const Shape& shape);

}  // namespace samplenorm
