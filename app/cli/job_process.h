#pragma once

#include <sys/types.h>

#include <string>

namespace samplenorm::cli {

/// Starts this program once more, with the arguments that it got, for one task alone, in one thread. The process is
/// asked to stop if this one ends before it. Throws Error.
pid_t start_job(const std::string& task);

/// The task that this process was started for; empty if it was not.
std::string task_of_this_process();

}  // namespace samplenorm::cli
