#include "comm/communicator_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>

#include "samplenorm/error.h"

namespace samplenorm {
namespace {

using Failures = std::vector<std::string>;

/// Values of very different sizes, so that sums in another order have other bits.
template <typename T>
std::vector<T> values_of(int rank, size_t count) {
  constexpr std::array sizes{1e-3, 1e1, 1e-2, 1e3, 1e0, 1e-1, 1e2};
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(sizes[(static_cast<size_t>(rank) * 5 + i) % sizes.size()] / (3.0 + rank));
  return values;
}

/// Added in the order given.
template <typename T>
std::vector<T> total_of(std::span<const int> ranks, size_t count) {
  std::vector<T> total = values_of<T>(ranks.front(), count);
  for (const int rank : ranks.subspan(1))
    std::ranges::transform(total, values_of<T>(rank, count), total.begin(), std::plus());
  return total;
}

std::vector<int> all_ranks(const Communicator& comm) {
  std::vector<int> ranks(static_cast<size_t>(comm.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::string names_of(std::span<const int> ranks) {
  std::string names;
  for (const int rank : ranks) names += " " + std::to_string(rank);
  return names;
}

template <typename T>
bool all_near(std::span<const T> got, std::span<const T> expected) {
  const T tolerance = 8 * std::numeric_limits<T>::epsilon();
  return std::ranges::equal(got, expected, [&](T a, T b) { return std::abs(a - b) <= tolerance * std::abs(b); });
}

template <typename T>
bool same_on_all(Communicator& comm, std::vector<T> values) {
  const std::vector<T> mine = values;
  comm.broadcast(std::as_writable_bytes(std::span(values)), 0);
  return std::ranges::equal(std::as_bytes(std::span(mine)), std::as_bytes(std::span(values)));
}

template <typename T>
void check_sum(Communicator& comm, Failures& failures) {
  for (const size_t count : {0, 1, 5, 64, 1001, 70000}) {
    auto values = values_of<T>(comm.rank(), count);
    comm.sum(std::span(values));
    const auto expected = total_of<T>(all_ranks(comm), count);
    const std::string what = "the sum of " + std::to_string(count) + " values ";
    if (!all_near<T>(values, expected)) failures.push_back(what + "is wrong");
    if (!same_on_all(comm, values)) failures.push_back(what + "has other bits than on rank 0");
  }
}

/// One, some and all.
std::vector<std::vector<int>> contributors_to_try(const Communicator& comm) {
  std::vector<std::vector<int>> all;
  const std::vector<int> everyone = all_ranks(comm);
  for (const int rank : everyone) all.push_back({rank});
  for (size_t size = 1; size <= everyone.size(); ++size) {
    all.emplace_back(everyone.begin(), everyone.begin() + static_cast<int>(size));
    all.emplace_back(everyone.end() - static_cast<int>(size), everyone.end());
  }
  if (comm.size() > 2) all.push_back({0, comm.size() - 1});
  return all;
}

void check_sum_of(Communicator& comm, Failures& failures) {
  for (const auto& contributors : contributors_to_try(comm))
    for (const size_t count : {0, 1, 65, 1001}) {
      auto values = values_of<double>(comm.rank(), count);
      if (!std::ranges::binary_search(contributors, comm.rank()))
        std::ranges::fill(values, std::numeric_limits<double>::quiet_NaN());
      comm.sum_of(contributors, values);
      const auto expected = total_of<double>(contributors, count);
      const std::string what = "the sum of ranks" + names_of(contributors) + " ";
      if (!all_near<double>(values, expected)) failures.push_back(what + "is wrong");
      if (!same_on_all(comm, values)) failures.push_back(what + "has other bits than on rank 0");
      if (std::ssize(contributors) < comm.size() && values != expected)
        failures.push_back(what + "is not added in the order of ranks");
    }
}

void check_broadcast(Communicator& comm, Failures& failures) {
  for (int root = 0; root < comm.size(); ++root)
    for (const size_t count : {0, 1, 7, 100003}) {
      const auto byte_of = [](int rank, size_t i) {
        return static_cast<std::byte>(i * 31 + static_cast<size_t>(rank) * 7 + 1);
      };
      std::vector<std::byte> bytes(count);
      for (size_t i = 0; i < count; ++i) bytes[i] = byte_of(comm.rank(), i);
      comm.broadcast(bytes, root);
      size_t wrong = 0;
      for (size_t i = 0; i < count; ++i) wrong += bytes[i] != byte_of(root, i);
      if (wrong > 0) failures.push_back(std::to_string(wrong) + " wrong bytes from root " + std::to_string(root));
    }
}

void check_ranks(Communicator& comm, Failures& failures) {
  std::vector<double> seen(static_cast<size_t>(comm.size()));
  seen.at(static_cast<size_t>(comm.rank())) = 1;
  comm.sum(seen);
  if (std::ranges::any_of(seen, [](double times) { return times != 1; }))
    failures.push_back("a rank is missing or there twice");
  if (comm.ranks_on_this_machine() != comm.size())
    failures.push_back("expected all ranks on this machine, got " + std::to_string(comm.ranks_on_this_machine()));
}

void check_traffic(Communicator& comm, Failures& failures) {
  std::array<double, 10> doubles{};
  std::array<float, 10> floats{};
  std::array<std::byte, 10> bytes{};
  const int last = comm.size() - 1;
  const bool is_last = comm.rank() == last;
  Traffic before = comm.traffic();
  const auto expect = [&](int64_t handed_in, const char* what) {
    const Traffic now = comm.traffic();
    const Traffic more = now - before;
    before = now;
    if (more.collectives != 1 || more.bytes != handed_in)
      failures.push_back(std::string(what) + ": expected " + std::to_string(handed_in) +
                         " bytes in one collective, got " + std::to_string(more.bytes) + " in " +
                         std::to_string(more.collectives));
  };
  comm.sum(doubles);
  expect(80, "sum of doubles");
  comm.sum(floats);
  expect(40, "sum of floats");
  comm.sum_of(std::array{last}, doubles);
  expect(is_last ? 80 : 0, "sum_of");
  comm.sum_of(all_ranks(comm), doubles);
  expect(80, "sum_of all");
  comm.broadcast(bytes, last);
  expect(is_last ? 10 : 0, "broadcast");
}

void check_wrong_arguments(Communicator& comm, Failures& failures) {
  const Traffic before = comm.traffic();
  const auto expect_error = [&](const std::string& part, const auto& call) {
    try {
      call();
      failures.push_back("expected an error with '" + part + "'");
    } catch (const Error& error) {
      if (std::string(error.what()).find(part) == std::string::npos)
        failures.push_back("expected an error with '" + part + "', got: " + error.what());
    }
  };
  std::array<double, 1> values{};
  const int size = comm.size();
  const auto sum_of = [&](std::vector<int> contributors) {
    return [&, contributors] { comm.sum_of(contributors, values); };
  };
  expect_error("got none", sum_of({}));
  expect_error("got -1, 0", sum_of({-1, 0}));
  expect_error("below " + std::to_string(size), sum_of({size}));
  expect_error("got 0, 0", sum_of({0, 0}));
  expect_error("got 1, 0", sum_of({1, 0}));
  expect_error("got " + std::to_string(size), [&] { comm.broadcast(std::as_writable_bytes(std::span(values)), size); });
  expect_error("got -1", [&] { comm.broadcast(std::as_writable_bytes(std::span(values)), -1); });
  if ((comm.traffic() - before).collectives != 0) failures.push_back("wrong calls are counted");
}

}  // namespace

std::span<const CommunicatorCheck> communicator_checks() {
  static constexpr std::array checks{
      CommunicatorCheck{"SumOfDoubles", check_sum<double>},
      CommunicatorCheck{"SumOfFloats", check_sum<float>},
      CommunicatorCheck{"SumOfContributors", check_sum_of},
      CommunicatorCheck{"Broadcast", check_broadcast},
      CommunicatorCheck{"Ranks", check_ranks},
      CommunicatorCheck{"Traffic", check_traffic},
      CommunicatorCheck{"WrongArguments", check_wrong_arguments},
  };
  return checks;
}

void check_duplicate(Communicator& comm, Failures& failures) {
  const std::shared_ptr<Communicator> copy = comm.duplicate();
  if (copy->rank() != comm.rank() || copy->size() != comm.size())
    failures.push_back("the copy has another rank or another size");
  // Calls of different kinds and lengths: they would spoil each other, or never end, if they met.
  Failures of_copy;
  std::thread other([&] {
    for (int i = 0; i < 3; ++i) {
      check_broadcast(*copy, of_copy);
      check_sum<float>(*copy, of_copy);
    }
  });
  for (int i = 0; i < 3; ++i) {
    check_sum_of(comm, failures);
    check_sum<double>(comm, failures);
  }
  other.join();
  failures.insert(failures.end(), of_copy.begin(), of_copy.end());
  const Traffic before = comm.traffic();
  check_ranks(*copy->duplicate(), failures);
  if ((comm.traffic() - before).collectives != 0)
    failures.push_back("calls of a copy's copy are counted as the first's");
}

}  // namespace samplenorm
