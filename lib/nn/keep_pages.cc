#include "samplenorm/memory.h"

#include <c10/core/CPUAllocator.h>
#include <pthread.h>
#include <sys/mman.h>
#include <torch/library.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace samplenorm {
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

  /// Frees what is kept, and keeps nothing of what comes back; or begins to keep again.
  void keep(bool wanted) {
    const std::lock_guard lock(mutex_);
    most_kept_bytes_ = wanted ? kMostKept : 0;
    if (!wanted) free_kept();
  }

  static KeepingAllocator& instance() {
    static auto* allocator = [] {
      // A child that is forked while another thread allocates must not find the lock taken for ever.
      pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                     [] { instance().mutex_.unlock(); });
      return new KeepingAllocator;  // never destroyed: tensors may outlive everything
    }();
    return *allocator;
  }

 private:
  static constexpr size_t kLarge = 256 << 10;
  static constexpr size_t kHugePage = 2 << 20;
  static constexpr size_t kPage = 4 << 10;
  inline static const size_t kMostKept =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) / 4 * static_cast<size_t>(sysconf(_SC_PAGESIZE));

  // Tensors that begin at the same place within their pages get into each other's way in caches and memory banks.
  static constexpr size_t kColours = 16;
  static constexpr size_t kColourBytes = 17 * 64;

  static size_t alignment(size_t bytes) { return bytes >= kHugePage ? kHugePage : kPage; }
  static size_t rounded(size_t bytes) { return (bytes + alignment(bytes) - 1) / alignment(bytes) * alignment(bytes); }

  void free_kept() {
    for (const auto& [bytes, places] : free_)
      for (void* place : places) {
        std::free(blocks_.at(place).begin);
        blocks_.erase(place);
      }
    free_.clear();
    kept_bytes_ = 0;
  }

  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (std::vector<void*>& places = free_[bytes]; !places.empty()) {
      void* place = places.back();
      places.pop_back();
      kept_bytes_ -= bytes;
      return place;
    }
    const size_t with_colour = rounded(bytes + kColours * kColourBytes);
    auto* begin = static_cast<char*>(std::aligned_alloc(alignment(bytes), with_colour));
    if (!begin) {  // what is kept may be what is missing
      free_kept();
      begin = static_cast<char*>(std::aligned_alloc(alignment(bytes), with_colour));
    }
    TORCH_CHECK(begin, "samplenorm: not enough memory for a tensor of ", bytes, " bytes on the CPU");
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
  size_t kept_bytes_ = 0, most_kept_bytes_ = kMostKept;
};

/// glibc gives every large block a mapping of its own, and returns it when it is freed. Once set, its thresholds do not
/// adapt themselves any more: what they return to is where they begin.
void let_malloc_keep([[maybe_unused]] bool keep) {
#ifdef __GLIBC__
  constexpr int kDefault = 128 << 10;
  mallopt(M_MMAP_THRESHOLD, keep ? 1 << 30 : kDefault);
  mallopt(M_TRIM_THRESHOLD, keep ? -1 : kDefault);
  mallopt(M_TOP_PAD, keep ? 64 << 20 : kDefault);
  if (!keep) malloc_trim(0);
#endif
}

}  // namespace

void keep_pages(Pages pages) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static Pages now = Pages::kReturned;
  static c10::Allocator* const before = c10::GetCPUAllocator();
  const bool tensors = pages == Pages::kKept;
  if ((pages == Pages::kReturned) != (now == Pages::kReturned)) let_malloc_keep(pages != Pages::kReturned);
  if (tensors || now == Pages::kKept) {
    KeepingAllocator& keeping = KeepingAllocator::instance();
    keeping.keep(tensors);
    c10::SetCPUAllocator(tensors ? &keeping : before, /*priority=*/1);
  }
  now = pages;
}

TORCH_LIBRARY_FRAGMENT(samplenorm, library) {
  library.def("keep_pages(bool keep) -> ()", [](bool keep) { keep_pages(keep ? Pages::kKept : Pages::kReturned); });
}

}  // namespace samplenorm
