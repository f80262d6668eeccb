#pragma once

// Which processes have a part in a sample that is pooled over several (Sync).

#include <set>

#include "samplers/method.h"

namespace samplenorm {

/// Ranks, of key.ranks, whose rows the method samples: all, or where a few suffice and `nodes` asks for them, a draw of
/// the epoch; BS draws for each layer, virtual rows go through all layers.
std::set<int> ranks_of(const Method& method, const Nodes& nodes, const Key& key);

}  // namespace samplenorm
