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

/// Gives a large tensor the place that the last one of its size had, which is still in the cache and has its pages.
/// glibc puts each in another place: a layer of 4 MB was written to four of them in turn, at half the speed.
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

  // Tensors that begin at the same place within their pages get into each other's way in caches and memory banks.
  static constexpr size_t kColours = 16;
  static constexpr size_t kColourBytes = 17 * 64;

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
    const size_t with_colour = rounded(bytes + kColours * kColourBytes);
    auto* begin = static_cast<char*>(std::aligned_alloc(alignment(bytes), with_colour));
    if (!begin) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (bytes >= kHugePage) madvise(begin, with_colour, MADV_HUGEPAGE);
#endif
    void* place = begin + next_colour_++ % kColours * kColourBytes;
    blocks_[place] = {begin, bytes};
    return place;
  }

  static void give_back(void* place) {
    KeepingAllocator& self = instance();
    const std::lock_guard lock(self.mutex_);
    const auto found = self.blocks_.find(place);
    const auto [begin, bytes] = found->second;
    if (self.kept_bytes_ + bytes <= self.most_kept_bytes_) {
      self.free_[bytes].push_back(place);
      self.kept_bytes_ += bytes;
    } else {
      self.blocks_.erase(found);
      std::free(begin);
    }
  }

  struct Block {
    void* begin;  ///< what aligned_alloc gave
    size_t bytes;
  };

  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;  ///< by the address that a tensor gets
  size_t next_colour_ = 0;
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
