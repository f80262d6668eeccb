#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "cli/say.h"

namespace samplenorm::cli {
namespace {

constexpr double kTerminalSeconds = 0.2;
constexpr double kPlainSeconds = 10;

std::string clock_time(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// A line that wraps could not be rewritten.
size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col - 1u : 79u;
}

}  // namespace

Progress::Progress(int64_t total, std::string unit)
    : total_(total), unit_(std::move(unit)), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::update(int64_t done, const std::string& note) {
  const double elapsed = since_begin_.seconds();
  if (done <= 0 || (elapsed < next_line_ && done < total_)) return;
  next_line_ = elapsed + (terminal_ ? kTerminalSeconds : kPlainSeconds);
  const double rate = static_cast<double>(done) / elapsed;
  const auto line = fmt::format("{}/{} {}, {:.{}f}/s, {} left; {}", done, total_, unit_, rate, rate < 10 ? 2 : 0,
                                clock_time(static_cast<double>(total_ - done) / rate), note);
  if (terminal_) {
    say(stderr, fmt::format("\r{}\033[K", line.substr(0, terminal_width())));
  } else {
    say(stderr, line + "\n");
  }
  std::fflush(stderr);
}

}  // namespace samplenorm::cli
