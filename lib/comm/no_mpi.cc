// In place of mpi.cc where MPI is not built in.

#include <cstdlib>

#include "samplenorm/error.h"
#include "samplenorm/mpi.h"

namespace samplenorm {

std::shared_ptr<Communicator> mpi_world() {
  throw Error("mpirun started this process, but MPI is not built in (cmake -DSAMPLENORM_MPI=ON builds it in)");
}

void mpi_abort(int status) { std::_Exit(status); }

}  // namespace samplenorm
