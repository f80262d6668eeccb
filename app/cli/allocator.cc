#include "cli/allocator.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace samplenorm::cli {
namespace {

/// Gives a large tensor the place that the last one of its size had, which is still in the cache and has its pages. glibc
/// puts each in another place: a layer of 4 MB was written to four of them in turn, at half the speed.
class KeepingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes < kLarge) return c10::GetDefaultCPUAllocator()->allocate(bytes);
    void* place = take(rounded(bytes));
    return {place, place, &KeepingAllocator::give_back, c10::Device(c10::kCPU)};
  }

  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

  static KeepingAllocator& instance() {
    static auto* allocator = new KeepingAllocator;  // never destroyed: tensors may outlive everything
    return *allocator;
  }

 private:
  static constexpr size_t kLarge = 256 << 10;
  static constexpr size_t kHugePage = 2 << 20;
  static constexpr size_t kPage = 4 << 10;

  static size_t alignment(size_t bytes) { return bytes >= kHugePage ? kHugePage : kPage; }
  static size_t rounded(size_t bytes) { return (bytes + alignment(bytes) - 1) / alignment(bytes) * alignment(bytes); }

  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<void*>& free = free_[bytes];
    if (!free.empty()) {
      void* place = free.back();
      free.pop_back();
      kept_bytes_ -= bytes;
      return place;
    }
    void* place = std::aligned_alloc(alignment(bytes), bytes);
    if (!place) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (bytes >= kHugePage) madvise(place, bytes, MADV_HUGEPAGE);
#endif
    sizes_[place] = bytes;
    return place;
  }

  static void give_back(void* place) {
    KeepingAllocator& self = instance();
    const std::lock_guard lock(self.mutex_);
    const auto found = self.sizes_.find(place);
    const size_t bytes = found->second;
    if (self.kept_bytes_ + bytes <= self.most_kept_bytes_) {
      self.free_[bytes].push_back(place);
      self.kept_bytes_ += bytes;
    } else {
      self.sizes_.erase(found);
      std::free(place);
    }
  }

  std::mutex mutex_;
  std::unordered_map<void*, size_t> sizes_;
  std::unordered_map<size_t, std::vector<void*>> free_;
  size_t kept_bytes_ = 0;
  const size_t most_kept_bytes_ =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) / 4 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
};

}  // namespace

// glibc gives every large block a mapping of its own and returns it to the kernel when it is freed, so the next step
// faults in (and the kernel zeroes) the same megabytes again: a pass over the activations that normalization would be
// charged with, its own and its rivals'.
void keep_pages() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
  c10::SetCPUAllocator(&KeepingAllocator::instance(), /*priority=*/1);
}

}  // namespace samplenorm::cli
