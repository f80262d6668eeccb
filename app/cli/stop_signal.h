#pragma once

#include "samplenorm/error.h"

namespace samplenorm::cli {

/// While it lives, the first SIGINT, SIGTERM, SIGUSR1 or SIGHUP only asks to stop; a second one ends the program as
/// usual. A SIGHUP that is ignored, as nohup has it, stays so.
class StopSignal {
 public:
  /// kAsksAgain is for a process whose parent passes on a signal that a terminal has sent to both.
  enum class Second { kEnds, kAsksAgain };
  explicit StopSignal(Second second = Second::kEnds);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The signal that came, or 0.
  static int received();
};

/// The end of a program that a signal stopped: exit status 128 + signal.
class Stopped : public Error {
 public:
  Stopped(int signal, const std::string& sentence) : Error(sentence), status_(128 + signal) {}
  int status() const { return status_; }

 private:
  int status_;
};

}  // namespace samplenorm::cli
