#include "cli/stop_signal.h"

#include <array>
#include <csignal>

namespace samplenorm::cli {
namespace {

/// SIGUSR1 because mpirun passes it on to its processes.
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1};

volatile std::sig_atomic_t signal_received = 0;

void note(int signal) {
  signal_received = signal;
  for (const int each : kSignals) std::signal(each, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
  signal_received = 0;
  for (const int each : kSignals) std::signal(each, note);
}

StopSignal::~StopSignal() {
  for (const int each : kSignals) std::signal(each, SIG_DFL);
}

int StopSignal::received() { return signal_received; }

}  // namespace samplenorm::cli
