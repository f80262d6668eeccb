#include "cli/stop_signal.h"

#include <signal.h>

#include <array>
#include <csignal>

namespace samplenorm::cli {
namespace {

/// SIGHUP is in addition to these, SIGUSR1 because mpirun passes it on to its processes.
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1};

volatile std::sig_atomic_t signal_received = 0;
volatile std::sig_atomic_t hang_up_is_caught = 0;
volatile std::sig_atomic_t second_ends = 1;

void handle_all(void (*handler)(int)) {
  for (const int each : kSignals) std::signal(each, handler);
  if (hang_up_is_caught != 0) std::signal(SIGHUP, handler);
}

void note(int signal) {
  signal_received = signal;
  if (second_ends != 0) handle_all(SIG_DFL);
}

/// nohup starts programs that way.
bool hang_up_is_ignored() {
  struct sigaction now = {};
  return sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

StopSignal::StopSignal(Second second) {
  signal_received = 0;
  second_ends = second == Second::kEnds ? 1 : 0;
  hang_up_is_caught = hang_up_is_ignored() ? 0 : 1;
  handle_all(note);
}

StopSignal::~StopSignal() { handle_all(SIG_DFL); }

int StopSignal::received() { return signal_received; }

}  // namespace samplenorm::cli
