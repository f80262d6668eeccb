#pragma once

// Memory that the process keeps instead of giving it back to the system.

namespace samplenorm {

/// Who keeps what is freed.
enum class Pages {
  kReturned,      ///< nobody: as it was before, and what was kept is given back
  kKeptByMalloc,  ///< malloc alone (glibc's); libtorch's allocator stays as it is
  kKept,  ///< malloc, and libtorch's allocator of CPU tensors: a large tensor gets the place of the last one of its
          ///< size
};

/// A training step frees and allocates the same large tensors again and again. Where they go back to the system each
/// time, the kernel has to find, clear and map the pages anew, which costs more than normalization does. This concerns
/// the whole process, and holds for everything that it allocates from now on; tensors that exist are not touched. It
/// may be called at any time, again too, but not while another thread runs operators. Up to a quarter of the machine's
/// memory is kept unused. Without glibc, malloc stays as it is.
void keep_pages(Pages pages = Pages::kKept);

}  // namespace samplenorm
