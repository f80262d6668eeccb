#pragma once

// Work in the background, and measurements that it must not disturb.

namespace samplenorm::cli {

/// While it lives, this process and those that it starts run at the lowest priority, and Undisturbed finds them.
/// Begins when nothing is measured. Throws Error if another program of this user works in the background already.
class Background {
 public:
  Background();
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  int descriptor_;
};

/// While one lives, in any process of this user, what works in the background stands still; says so on stderr. It goes
/// on when the last one ends, also by being killed. Warns of other load.
class Undisturbed {
 public:
  Undisturbed();
  ~Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  int measuring_;  // holds the lock that all measurements share
  int pipe_ = -1;  // a process that waits for its end lets the background go on
};

}  // namespace samplenorm::cli
