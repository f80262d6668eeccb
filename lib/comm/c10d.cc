// The process groups of torch.distributed, through c10d, which is included here and nowhere else. A group belongs to
// Python, which may destroy it and make another of the same name: only weak pointers to groups are kept here.

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "samplenorm/communicator.h"
#include "samplenorm/error.h"

namespace samplenorm {
namespace {

using GroupPointer = c10::intrusive_ptr<c10d::ProcessGroup>;

/// The CPU, or where the group's backend serves only another kind of device (NCCL): the current one of that kind.
at::Device device_of(const c10d::ProcessGroup& group) {
  const std::vector<at::Device> devices = group.getDeviceTypes();
  if (devices.empty() || std::ranges::any_of(devices, &at::Device::is_cpu)) return at::kCPU;
  return group.getBoundDeviceId().value_or(devices.front());
}

class ProcessGroupRank : public Communicator {
 public:
  ProcessGroupRank(std::string name, const GroupPointer& group)
      : name_(std::move(name)), group_(group), rank_(group->getRank()), size_(group->getSize()) {}

  bool is_of(const GroupPointer& group) const { return group_.lock() == group; }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  /// As torchrun says; a part of all processes may have fewer of its own here.
  int ranks_on_this_machine() const override {
    const char* local = std::getenv("LOCAL_WORLD_SIZE");
    return local ? std::clamp(std::atoi(local), 1, size_) : size_;
  }

  bool serves(std::string_view device) const override {
    const GroupPointer group = group_.lock();
    return group && std::ranges::any_of(group->getDeviceTypes(), [&](const at::Device& served) {
             return c10::DeviceTypeName(served.type(), /*lower_case=*/true) == device;
           });
  }

  std::shared_ptr<Communicator> duplicate() override {
    throw Error("process group '" + name_ +
                "' cannot be duplicated from C++: make another one with torch.distributed.new_group");
  }

 private:
  void do_sum(std::span<double> values) override { add(values); }
  void do_sum(std::span<float> values) override { add(values); }

  template <typename T>
  void add(std::span<T> values) {
    on_device(values, [](c10d::ProcessGroup& group, std::vector<at::Tensor>& tensors) {
      return group.allreduce(tensors);  // a sum, if nothing else is asked for
    });
  }

  void do_sum_of(std::span<const int> contributors, std::span<double> values) override {
    const int collector = contributors.front();
    if (rank_ == collector) {
      std::vector<double> received(values.size());
      for (const int source : contributors.subspan(1)) {
        on_device(std::span(received), [source](c10d::ProcessGroup& group, std::vector<at::Tensor>& tensors) {
          return group.recv(tensors, source, 0);
        });
        std::ranges::transform(values, received, values.begin(), std::plus());
      }
    } else if (std::ranges::binary_search(contributors, rank_)) {
      on_device(values, [collector](c10d::ProcessGroup& group, std::vector<at::Tensor>& tensors) {
        return group.send(tensors, collector, 0);
      });
    }
    do_broadcast(std::as_writable_bytes(values), collector);
  }

  void do_broadcast(std::span<std::byte> bytes, int root) override {
    const std::span values(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size());
    on_device(values, [root](c10d::ProcessGroup& group, std::vector<at::Tensor>& tensors) {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      return group.broadcast(tensors, options);
    });
  }

  /// Starts the call with the values as a tensor where the group takes it, and waits for its end.
  template <typename T, typename Call>
  void on_device(std::span<T> values, const Call& call) {
    if (values.empty()) return;
    const GroupPointer group = group_.lock();
    if (!group) throw Error("process group '" + name_ + "' has been destroyed");
    const at::Tensor here = at::from_blob(values.data(), {std::ssize(values)}, c10::CppTypeToScalarType<T>::value);
    std::vector<at::Tensor> there{here.to(device_of(*group))};
    call(*group, there)->wait();
    if (!there.front().is_same(here)) here.copy_(there.front());
  }

  const std::string name_;
  const c10::weak_intrusive_ptr<c10d::ProcessGroup> group_;
  const int rank_;
  const int size_;
};

GroupPointer resolve(const std::string& name) {
  try {
    return c10d::resolve_process_group(name);
  } catch (const c10::Error&) {
    throw Error("no communicator is registered as '" + name +
                "', and torch.distributed has no process group of that name in this process");
  }
}

}  // namespace

std::shared_ptr<Communicator> process_group(const std::string& name) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, std::shared_ptr<ProcessGroupRank>>;
  const GroupPointer group = resolve(name);
  const std::lock_guard lock(mutex);
  std::shared_ptr<ProcessGroupRank>& entry = known[name];
  if (!entry || !entry->is_of(group)) entry = std::make_shared<ProcessGroupRank>(name, group);
  return entry;
}

}  // namespace samplenorm
