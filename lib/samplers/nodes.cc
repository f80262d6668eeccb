#include "samplers/nodes.h"

#include <algorithm>

#include "samplers/permutation.h"

namespace samplenorm {

int64_t Nodes::among(int64_t ranks) const {
  if (part == 0) return ranks;
  const int64_t wanted = whole == 0 ? part : (ranks * part + whole / 2) / whole;
  return std::clamp<int64_t>(wanted, 1, ranks);
}

std::set<int> ranks_of(const Method& method, const Nodes& nodes, const Key& key) {
  const auto ranks = static_cast<int64_t>(key.ranks);
  const uint64_t layer = method.mixing == Mixing::kVirtual ? 0 : key.layer + 1;
  Stream stream(key.seed, Purpose::kNodes, layer, key.epoch);
  std::set<int> chosen;
  for (const int64_t rank : random_permutation(ranks, stream, method.few_nodes_suffice ? nodes.among(ranks) : ranks))
    chosen.insert(static_cast<int>(rank));
  return chosen;
}

bool carries_virtual_rows(const Nodes& nodes, const Key& key) {
  for (const Method* method : registry())
    if (method->mixing == Mixing::kVirtual) return ranks_of(*method, nodes, key).contains(static_cast<int>(key.rank));
  return false;
}

}  // namespace samplenorm
