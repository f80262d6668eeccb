#include <algorithm>
#include <array>
#include <cstdlib>

#include "samplenorm/mpi.h"

namespace samplenorm {

bool started_by_mpi() {
  // Open MPI; MPICH and those made from it; any that speaks PMIx.
  constexpr std::array variables{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
  return std::ranges::any_of(variables, [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace samplenorm
