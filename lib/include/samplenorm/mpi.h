#pragma once

// MPI, for programs that link samplenorm::mpi; the library itself does not need MPI.

#include <memory>
#include <string>

#include "samplenorm/communicator.h"

namespace samplenorm {

/// Whether mpirun started this process (told from the environment, without starting MPI).
bool started_by_mpi();

/// All processes that mpirun started, this one included; MPI is started at the first call, which all make, and ended
/// with the program: in peace where its exit status is 0 (which waits for all), by mpirun's ending all of them where it
/// is not. Any error of MPI's own ends all of them. Throws Error where MPI cannot serve several threads.
std::shared_ptr<Communicator> mpi_world();

/// Ends all processes of mpi_world() at once, with this exit status. Does not return.
[[noreturn]] void mpi_abort(int status);

}  // namespace samplenorm
