// A program for mpi_test.py, which runs it by mpirun and by itself: the word behind its name says what it does.

#include <array>
#include <iostream>
#include <string_view>

#include "comm/communicator_checks.h"
#include "samplenorm/error.h"
#include "samplenorm/mpi.h"

namespace samplenorm {
namespace {

int check_all() {
  std::vector<std::string> failures;
  Communicator& comm = *mpi_world();
  if (mpi_world().get() != &comm) failures.push_back("there are two worlds");
  for (const CommunicatorCheck& check : communicator_checks()) {
    const size_t before = failures.size();
    check.run(comm, failures);
    for (size_t i = before; i < failures.size(); ++i) failures[i] = std::string(check.name) + ": " + failures[i];
  }
  check_duplicate(comm, failures);
  // Kept until the program has ended, behind MPI's end.
  register_communicator("copy", comm.duplicate());
  for (const std::string& failure : failures) std::cerr << "rank " << comm.rank() << ": " << failure << '\n';
  if (failures.empty()) std::cout << "rank " << comm.rank() << " of " << comm.size() << ": good\n";
  return failures.empty() ? 0 : 1;
}

/// One rank ends, in the way that is asked for; the others wait for it in a sum, for ever if nothing ends them.
int leave(std::string_view how) {
  Communicator& comm = *mpi_world();
  if (comm.rank() == comm.size() - 1) {
    std::cout << "leaving";  // buffered
    if (how == "abort") mpi_abort(3);
    if (how == "throw") throw Error("thrown");
    return 4;
  }
  std::array<double, 1> value{};
  comm.sum(value);
  return 0;
}

int run(std::string_view what) {
  if (what == "started") {
    std::cout << (started_by_mpi() ? "by mpirun\n" : "alone\n");
    return 0;
  }
  if (what == "check") return check_all();
  if (what == "abort-without-mpi") mpi_abort(5);
  return leave(what);
}

}  // namespace
}  // namespace samplenorm

int main(int count, char** words) { return samplenorm::run(count > 1 ? words[1] : "check"); }
