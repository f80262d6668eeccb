#include "cli/processes.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <span>
#include <thread>

#include "cli/say.h"
#include "samplenorm/mpi.h"

namespace samplenorm::cli {
namespace {

/// Null until join_processes() was called.
std::shared_ptr<Communicator>& joined() {
  static std::shared_ptr<Communicator> processes;
  return processes;
}

bool is_one_of_several() { return joined() && joined()->size() > 1; }

/// That this process may use: mpirun binds its processes to some.
int64_t allowed_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
}

void share_cores(const Communicator& processes) {
  if (processes.ranks_on_this_machine() == 1 || std::getenv("OMP_NUM_THREADS") != nullptr) return;
  const int64_t share = sysconf(_SC_NPROCESSORS_ONLN) / processes.ranks_on_this_machine();
  at::set_num_threads(static_cast<int>(std::max<int64_t>(1, std::min(share, allowed_cores()))));
}

/// What goes wrong often does so everywhere at once. Lower ranks are given the time to say it and to end all.
void let_lower_ranks_speak(int rank) {
  if (rank > 0) std::this_thread::sleep_for(std::chrono::milliseconds(500 + 10 * rank));
}

}  // namespace

std::shared_ptr<Communicator> join_processes() {
  if (!joined()) {
    joined() = started_by_mpi() ? mpi_world() : single_process();
    share_cores(*joined());
  }
  return joined();
}

int fail(const std::string& reason) {
  if (!is_one_of_several()) {
    say(stderr, fmt::format("samplenorm: {}\n", reason));
    return 1;
  }
  let_lower_ranks_speak(joined()->rank());
  say(stderr, fmt::format("samplenorm: rank {}: {}\n", joined()->rank(), reason));
  mpi_abort(1);
}

int stop(const std::string& reason, int status) {
  if (!is_one_of_several()) {
    say(stderr, fmt::format("samplenorm: {}\n", reason));
    return status;
  }
  if (joined()->rank() == 0) say(stderr, fmt::format("samplenorm: {}\n", reason));
  std::array waits_for_all{0.0};
  joined()->sum(std::span<double>(waits_for_all));
  return status;
}

}  // namespace samplenorm::cli
