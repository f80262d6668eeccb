#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/background.h"
#include "cli/commands.h"
#include "samplenorm/error.h"

namespace samplenorm::cli {
namespace {

/// The command's exit status.
int run_command(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t process = ::fork();
  if (process < 0) throw Error(fmt::format("cannot start {}: {}", words.front(), std::strerror(errno)));
  if (process == 0) {
    ::execvp(arguments.front(), arguments.data());
    std::perror(arguments.front());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

void add_undisturbed(CLI::App& program) {
  CLI::App* undisturbed =
      program.add_subcommand("undisturbed", "Run a command that times things while `study --background` stands still");
  undisturbed->prefix_command();
  undisturbed->footer("Example:\n  samplenorm undisturbed python3 my_benchmark.py");
  undisturbed->callback([undisturbed] {
    const auto command = undisturbed->remaining();
    if (command.empty()) throw Error("undisturbed needs a command to run");
    int status = 0;
    {
      const Undisturbed meanwhile;
      status = run_command(command);
    }
    if (status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace samplenorm::cli
