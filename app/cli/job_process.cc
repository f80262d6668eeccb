#include "cli/job_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "samplenorm/error.h"

namespace samplenorm::cli {
namespace {

constexpr const char* kTask = "SAMPLENORM_TASK";

/// What this program was called with.
std::vector<std::string> own_arguments() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

pid_t start_job(const std::string& task) {
  auto words = own_arguments();
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (const char* threads : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) ::setenv(threads, "1", /*replace=*/1);
  ::setenv(kTask, task.c_str(), /*replace=*/1);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process != 0) ::unsetenv(kTask);
  if (process < 0) throw Error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (process > 0) return process;
  // Between fork and exec nothing is allocated.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);  // it ended before that took effect
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(127);
}

std::string task_of_this_process() {
  const char* task = std::getenv(kTask);
  return task == nullptr ? "" : task;
}

}  // namespace samplenorm::cli
