#pragma once

#include "samplenorm/error.h"

namespace samplenorm::cli {

/// While it lives, the first SIGINT, SIGTERM or SIGUSR1 only asks to stop; a second one ends the program as usual.
class StopSignal {
 public:
  StopSignal();
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
