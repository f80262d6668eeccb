#include "cli/allocator.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace samplenorm::cli {

// glibc gives every large tensor a mapping of its own and returns it to the kernel when the tensor dies, so the next
// step faults in (and the kernel zeroes) the same megabytes again: a pass over the activations that normalization would
// be charged with, its own and its rivals'. From the heap, pages are reused while they are still in the cache.
void keep_pages() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace samplenorm::cli
