#pragma once

// The program as one of several that mpirun started.

#include <memory>
#include <string>

#include "samplenorm/communicator.h"

namespace samplenorm::cli {

/// All processes that mpirun started, or this one alone. Of several on one machine each takes its part of the cores,
/// unless OMP_NUM_THREADS says how many threads to use.
std::shared_ptr<Communicator> join_processes();

/// Says on stderr why the program fails, and returns the exit status. One of several processes names its rank and ends
/// all of them; of several that fail at once one speaks.
int fail(const std::string& reason);

/// The same for a program that stops because it was asked to, as all of its processes do: rank 0 speaks, and they end
/// when it has.
int stop(const std::string& reason, int status);

}  // namespace samplenorm::cli
