// Functions that c10d_test.py calls in processes with a process group.

#include <iostream>

#include "comm/communicator_checks.h"
#include "samplenorm/error.h"

namespace {

std::shared_ptr<samplenorm::Communicator> held;

}  // namespace

/// Runs all checks on the group; gives the number of failures and writes them to stderr.
extern "C" int check_process_group(const char* name) {
  std::vector<std::string> failures;
  const auto comm = samplenorm::find_communicator(name);
  for (const auto& check : samplenorm::communicator_checks()) check.run(*comm, failures);
  try {
    comm->duplicate();
    failures.push_back("expected an error from duplicate()");
  } catch (const samplenorm::Error&) {
  }
  for (const std::string& failure : failures) std::cerr << "rank " << comm->rank() << ": " << failure << std::endl;
  return static_cast<int>(failures.size());
}

/// Collectives that the communicator of this name has counted; -1 if there is none.
extern "C" int collectives_of(const char* name) try {
  return static_cast<int>(samplenorm::find_communicator(name)->traffic().collectives);
} catch (const samplenorm::Error& error) {
  std::cerr << error.what() << std::endl;
  return -1;
}

/// Keeps the communicator of this name beyond its group's end.
extern "C" void hold(const char* name) { held = samplenorm::find_communicator(name); }

/// Whether what is held says that its group is gone.
extern "C" bool held_is_destroyed() try {
  double value = 1;
  held->sum(std::span(&value, 1));
  return false;
} catch (const samplenorm::Error& error) {
  std::cerr << error.what() << std::endl;
  return true;
}
