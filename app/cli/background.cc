#include "cli/background.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "cli/machine.h"
#include "samplenorm/error.h"

namespace samplenorm::cli {
namespace {

/// One for each user, wherever they are logged in. The program in the background holds its lock, and writes its process
/// group into it.
std::string background_file() {
  const char* folder = std::getenv("SAMPLENORM_RUNTIME_DIR");  // for tests
  return fmt::format("{}/samplenorm-{}.background", folder != nullptr ? folder : "/tmp", ::getuid());
}

/// The lock that measurements share: who gets it alone is the last.
std::string measuring_file() { return background_file() + ".measuring"; }

int open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) throw Error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return descriptor;
}

/// The process group in the background, or 0.
pid_t background_group() {
  const int descriptor = ::open(background_file().c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  const bool nobody = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  ::close(descriptor);
  pid_t group = 0;
  if (!nobody) std::ifstream(background_file()) >> group;
  return group > 1 ? group : 0;
}

/// Waits until the process that measures has ended or is done, and lets the group go on if no other one measures.
[[noreturn]] void wait_and_continue(int pipe, int measuring, pid_t group) {
  ::setsid();  // Ctrl-C is not for it
  char nothing = 0;
  while (::read(pipe, &nothing, 1) < 0 && errno == EINTR) {
  }
  if (::flock(measuring, LOCK_EX | LOCK_NB) == 0) ::kill(-group, SIGCONT);
  ::_exit(0);
}

}  // namespace

Background::Background() : descriptor_(open_file(background_file())) {
  const int measuring = open_file(measuring_file());
  while (::flock(measuring, LOCK_EX) != 0 && errno == EINTR) {
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor_);
    throw Error(fmt::format("process group {} works in the background already: one at a time", background_group()));
  }
  ::close(measuring);
  ::setpgid(0, 0);
  const std::string group = std::to_string(::getpgrp()) + "\n";
  if (::ftruncate(descriptor_, 0) != 0 || ::write(descriptor_, group.data(), group.size()) < 0)
    throw Error(fmt::format("cannot write {}: {}", background_file(), std::strerror(errno)));
  constexpr int kLowest = 19;
  ::setpriority(PRIO_PROCESS, 0, kLowest);
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);  // where it is allowed
}

Background::~Background() { ::close(descriptor_); }

Undisturbed::Undisturbed() : measuring_(open_file(measuring_file())) {
  while (::flock(measuring_, LOCK_SH) != 0 && errno == EINTR) {
  }
  const pid_t group = background_group();
  if (group == 0 || group == ::getpgrp()) {
    warn_of_load();
    return;
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  // A child of a child, so that nobody has to wait for it.
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t waiter = ::fork();
    if (waiter != 0) ::_exit(waiter < 0 ? 1 : 0);
    ::close(ends[1]);
    wait_and_continue(ends[0], measuring_, group);
  }
  ::close(ends[0]);
  pipe_ = ends[1];
  int status = 1;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0)
    throw Error("cannot start the process that lets the work in the background go on, so it is not stopped");
  ::kill(-group, SIGSTOP);
  fmt::print(stderr, "samplenorm: the work in the background (process group {}) stands still while this measures\n",
             group);
}

Undisturbed::~Undisturbed() {
  ::close(measuring_);
  if (pipe_ >= 0) ::close(pipe_);
}

}  // namespace samplenorm::cli
