#include "cli/allocator.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <string_view>
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
    void* place = bytes < kLarge ? c10::GetDefaultCPUAllocator()->raw_allocate(bytes) : take(rounded(bytes));
    return {place, place, &KeepingAllocator::give_back, c10::Device(c10::kCPU)};
  }

  /// libtorch's convolutions take their scratch memory by address alone: without this they end the program.
  c10::DeleterFnPtr raw_deleter() const override { return &KeepingAllocator::give_back; }

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
    if (!self.keep_or_free(place)) c10::GetDefaultCPUAllocator()->raw_deallocate(place);
  }

  /// False: it is not one of the large ones.
  bool keep_or_free(void* place) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(place);
    if (found == blocks_.end()) return false;
    const auto [begin, bytes] = found->second;
    if (kept_bytes_ + bytes <= most_kept_bytes_) {
      free_[bytes].push_back(place);
      kept_bytes_ += bytes;
    } else {
      blocks_.erase(found);
      std::free(begin);
    }
    return true;
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
  const char* wish = std::getenv("SAMPLENORM_ALLOCATOR");
  if (wish != nullptr && wish == std::string_view("system")) return;
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
  if (wish != nullptr && wish == std::string_view("malloc")) return;
  c10::SetCPUAllocator(&KeepingAllocator::instance(), /*priority=*/1);
}

}  // namespace samplenorm::cli
