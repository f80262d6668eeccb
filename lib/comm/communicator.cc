#include "samplenorm/communicator.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include "samplenorm/error.h"

namespace samplenorm {
namespace {

void check_contributors(std::span<const int> contributors, int size) {
  const bool good = !contributors.empty() && contributors.front() >= 0 && contributors.back() < size &&
                    std::ranges::adjacent_find(contributors, std::greater_equal()) == contributors.end();
  if (good) return;
  std::string got;
  for (const int rank : contributors) got += (got.empty() ? "" : ", ") + std::to_string(rank);
  throw Error("sum_of: expected one or more ascending ranks below " + std::to_string(size) + " as contributors, got " +
              (got.empty() ? "none" : got));
}

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Communicator>> communicators;
};

/// Never destroyed: threads may still look names up while the program ends.
Registry& registry() {
  static Registry& only = *new Registry;
  return only;
}

}  // namespace

void Communicator::sum(std::span<double> values) {
  count(values.size_bytes());
  do_sum(values);
}

void Communicator::sum(std::span<float> values) {
  count(values.size_bytes());
  do_sum(values);
}

void Communicator::sum_of(std::span<const int> contributors, std::span<double> values) {
  check_contributors(contributors, size());
  count(std::ranges::binary_search(contributors, rank()) ? values.size_bytes() : 0);
  if (std::ssize(contributors) == size())
    do_sum(values);
  else
    do_sum_of(contributors, values);
}

void Communicator::broadcast(std::span<std::byte> bytes, int root) {
  if (root < 0 || root >= size())
    throw Error("broadcast: expected a root below " + std::to_string(size()) + ", got " + std::to_string(root));
  count(rank() == root ? bytes.size() : 0);
  do_broadcast(bytes, root);
}

void Communicator::count(size_t bytes) {
  ++collectives_;
  bytes_ += static_cast<int64_t>(bytes);
}

void register_communicator(const std::string& name, std::shared_ptr<Communicator> communicator) {
  // What stood there before is destroyed behind the lock.
  const std::lock_guard lock(registry().mutex);
  if (communicator)
    registry().communicators[name].swap(communicator);
  else if (auto node = registry().communicators.extract(name))
    communicator = std::move(node.mapped());
}

std::shared_ptr<Communicator> find_communicator(const std::string& name) {
  {
    const std::lock_guard lock(registry().mutex);
    const auto found = registry().communicators.find(name);
    if (found != registry().communicators.end()) return found->second;
  }
  return process_group(name);
}

}  // namespace samplenorm
