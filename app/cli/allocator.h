#pragma once

namespace samplenorm::cli {

/// Makes the process keep what it frees: malloc its pages, and libtorch the memory of large tensors, which the next
/// tensor of the same size gets. For everything that the program runs, rivals included. To be called before tensors
/// exist. For comparisons, the environment can have less: SAMPLENORM_ALLOCATOR=malloc leaves libtorch as it is, and
/// =system all, so that another malloc can be preloaded.
void keep_pages();

}  // namespace samplenorm::cli
