#pragma once

// What a sampling method is: a name and a pure function. Every method is one file that defines one `const Method`, and
// one line in registry.cc.

#include <span>
#include <string_view>
#include <vector>

#include "core/philox.h"
#include "samplenorm/notation.h"

namespace samplenorm {

/// How a method may be combined.
enum class Mixing {
  kNever,
  kReal,     ///< samples real rows; mixes with a virtual method
  kVirtual,  ///< samples the virtual rows; `part` of its ratio is their number
};

struct Method {
  std::string_view name;     ///< "FS"
  std::string_view title;    ///< "feature sampling"
  std::string_view summary;  ///< one line for `samplenorm methods`
  Mixing mixing;
  bool takes_ratio;
  bool draws;  ///< uses `stream`, so that `redraw` makes a difference
  /// The boxes of the method's one group.
  std::vector<Box> (*boxes)(const Shape& shape, Ratio ratio, Stream& stream);
  bool few_nodes_suffice = false;  ///< rows of some processes stand for all, so that `nodes` makes a difference
  /// The fewest and the most points that a draw can have of this shape; null where all draws have the same number.
  /// Memory is laid out by the most, `least` holds for the fewest; draw() throws for a draw outside of the two.
  struct Points {
    int64_t fewest, most;
  };
  Points (*points)(const Shape& shape, Ratio ratio) = nullptr;
  int64_t least = 2;  ///< points a channel that a sample has where the layer has them, unless the notation says more
};

/// The number of points of the method's draws.
Method::Points points_of(const Method& method, const Shape& shape, Ratio ratio);

/// In the order of documentation.
std::span<const Method* const> registry();

/// Null for an unknown name.
const Method* find_method(std::string_view name);

/// The method of a part of a spec. Throws Error for an unknown name, which only a spec that was not parsed can have.
const Method& method_of(const MethodSpec& part);

}  // namespace samplenorm
