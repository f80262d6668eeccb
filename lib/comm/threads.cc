// Ranks that are threads of one process, mostly for tests: each shows the others where its values lie, and all meet at
// a barrier before they read and again before they write. Sums are added in the order of ranks.

#include <algorithm>
#include <barrier>
#include <numeric>
#include <string>

#include "samplenorm/communicator.h"
#include "samplenorm/error.h"

namespace samplenorm {
namespace {

/// What the ranks of one communicator share.
struct MeetingPlace {
  explicit MeetingPlace(int size) : barrier(size), shown(static_cast<size_t>(size)) {}

  std::barrier<> barrier;
  std::vector<std::span<std::byte>> shown;  // by rank
  std::shared_ptr<MeetingPlace> next;       // while it is duplicated
};

class ThreadRank : public Communicator {
 public:
  ThreadRank(int rank, std::shared_ptr<MeetingPlace> place) : rank_(rank), place_(std::move(place)) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(place_->shown.size()); }

  std::shared_ptr<Communicator> duplicate() override {
    if (rank_ == 0) place_->next = std::make_shared<MeetingPlace>(size());
    meet();
    auto copy = std::make_shared<ThreadRank>(rank_, place_->next);
    meet();
    return copy;
  }

 private:
  void do_sum(std::span<double> values) override { add_all(values); }
  void do_sum(std::span<float> values) override { add_all(values); }

  template <typename T>
  void add_all(std::span<T> values) {
    std::vector<int> everyone(place_->shown.size());
    std::iota(everyone.begin(), everyone.end(), 0);
    add(everyone, values);
  }

  void do_sum_of(std::span<const int> contributors, std::span<double> values) override { add(contributors, values); }

  template <typename T>
  void add(std::span<const int> contributors, std::span<T> values) {
    show(std::as_writable_bytes(values));
    const auto first = shown_by<T>(contributors.front());
    std::vector<T> total(first.begin(), first.end());
    for (const int rank : contributors.subspan(1))
      std::ranges::transform(total, shown_by<T>(rank), total.begin(), std::plus());
    meet();
    std::ranges::copy(total, values.begin());
  }

  void do_broadcast(std::span<std::byte> bytes, int root) override {
    show(bytes);
    if (rank_ != root) std::ranges::copy(shown_by<std::byte>(root), bytes.begin());
    meet();
  }

  void meet() { place_->barrier.arrive_and_wait(); }

  /// Returns when all have shown theirs; they stay until all have met again.
  void show(std::span<std::byte> bytes) {
    place_->shown[static_cast<size_t>(rank_)] = bytes;
    meet();
    const auto other =
        std::ranges::find_if(place_->shown, [&](std::span<std::byte> theirs) { return theirs.size() != bytes.size(); });
    if (other == place_->shown.end()) return;
    const std::string theirs = std::to_string(other->size());
    meet();  // every rank finds a difference and throws
    throw Error("expected as many bytes as another rank has in the same call, " + theirs + ", got " +
                std::to_string(bytes.size()));
  }

  template <typename T>
  std::span<const T> shown_by(int rank) const {
    const std::span<std::byte> bytes = place_->shown[static_cast<size_t>(rank)];
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  const int rank_;
  const std::shared_ptr<MeetingPlace> place_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> thread_communicators(int size) {
  if (size < 1) throw Error("thread_communicators: expected one rank or more, got " + std::to_string(size));
  const auto place = std::make_shared<MeetingPlace>(size);
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_shared<ThreadRank>(rank, place));
  return ranks;
}

}  // namespace samplenorm
