#pragma once

// Processes that train together. The operators reach a communicator by its name (a string goes through PyTorch's
// dispatcher, a pointer does not): the name of a registered one, or else of a torch.distributed process group.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace samplenorm {

/// What one process has asked of a communicator.
struct Traffic {
  int64_t collectives = 0;
  int64_t bytes = 0;  ///< that it handed in; those it only waited for are not counted

  Traffic operator-(const Traffic& before) const { return {collectives - before.collectives, bytes - before.bytes}; }
};

/// Every rank makes the same calls in the same order. A call gives the same bits on every rank. One thread at a time.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Ranks on this machine, this one included.
  virtual int ranks_on_this_machine() const { return size(); }
  /// Whether it is a group of torch.distributed that reduces tensors on this kind of device ("cuda").
  virtual bool serves(std::string_view /*device*/) const { return false; }

  /// values, summed over the ranks, take the place of the values on each.
  void sum(std::span<double> values);
  void sum(std::span<float> values);
  /// The same of the contributors' values alone (ascending ranks, one or more): what the other ranks have there is of
  /// no account, they send nothing and wait for one broadcast.
  void sum_of(std::span<const int> contributors, std::span<double> values);
  /// The root's bytes, on every rank.
  void broadcast(std::span<std::byte> bytes, int root);

  /// A communicator of the same ranks whose calls do not meet those of this one, for another thread. All ranks call it.
  virtual std::shared_ptr<Communicator> duplicate() = 0;

  Traffic traffic() const { return {collectives_, bytes_}; }

 private:
  virtual void do_sum(std::span<double> values) = 0;
  virtual void do_sum(std::span<float> values) = 0;
  virtual void do_sum_of(std::span<const int> contributors, std::span<double> values) = 0;
  virtual void do_broadcast(std::span<std::byte> bytes, int root) = 0;

  void count(size_t bytes);

  std::atomic<int64_t> collectives_ = 0;
  std::atomic<int64_t> bytes_ = 0;
};

/// A process alone: everything is the identity.
std::shared_ptr<Communicator> single_process();

/// `size` ranks for as many threads of this process.
std::vector<std::shared_ptr<Communicator>> thread_communicators(int size);

/// The process group of torch.distributed with this name (ProcessGroup.group_name in Python). Throws Error if there is
/// none. It is the same object, which goes on counting, as long as the group is the same; once Python has destroyed the
/// group, its calls throw Error.
std::shared_ptr<Communicator> process_group(const std::string& name);

/// Under this name the operators find it in this process. A name can be registered again; a null takes it away.
void register_communicator(const std::string& name, std::shared_ptr<Communicator> communicator);
/// A registered one, or else process_group(name).
std::shared_ptr<Communicator> find_communicator(const std::string& name);

}  // namespace samplenorm
