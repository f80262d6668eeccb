#pragma once

// What every communicator has to do, as checks that all of its ranks run together: one set for threads, MPI and process
// groups. They depend on no test framework, since some run inside of mpirun and some inside of Python.

#include <span>
#include <string>
#include <vector>

#include "samplenorm/communicator.h"

namespace samplenorm {

struct CommunicatorCheck {
  const char* name;
  /// Adds a sentence for whatever is wrong and goes on, so that no rank leaves the others waiting.
  void (*run)(Communicator& comm, std::vector<std::string>& failures);
};

std::span<const CommunicatorCheck> communicator_checks();

/// Of a communicator's copy, used in a second thread at the same time. (Process groups cannot be copied.)
void check_duplicate(Communicator& comm, std::vector<std::string>& failures);

}  // namespace samplenorm
