#include "cli/stop_signal.h"

#include <csignal>

namespace samplenorm::cli {
namespace {

volatile std::sig_atomic_t signal_received = 0;

void note(int signal) {
  signal_received = signal;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
  signal_received = 0;
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

StopSignal::~StopSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int StopSignal::received() { return signal_received; }

}  // namespace samplenorm::cli
