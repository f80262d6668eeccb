#pragma once

#include <cstdint>
#include <string>

#include "bench/stopwatch.h"

namespace samplenorm::cli {

/// How far a long task is, with its rate and the time left, on stderr: one line that is rewritten on a terminal,
/// elsewhere a plain line every ten seconds.
class Progress {
 public:
  /// The task is done after `total` units, e.g. "images".
  Progress(int64_t total, std::string unit);
  /// Takes the rewritten line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` follows the figures.
  void update(int64_t done, const std::string& note);
  /// Makes room for other output.
  void clear();

 private:
  int64_t total_;
  std::string unit_;
  bool terminal_;
  bench::Stopwatch since_begin_;
  double next_line_ = 0;  // in seconds since the begin
};

}  // namespace samplenorm::cli
