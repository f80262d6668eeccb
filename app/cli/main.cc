// samplenorm, the program. Exit status 0: done; 1: it failed, with one sentence on stderr; 2: wrong use; 129, 130,
// 138 and 143: stopped by SIGHUP, SIGINT, SIGUSR1 and SIGTERM, and to be resumed.

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "cli/commands.h"
#include "cli/processes.h"
#include "cli/stop_signal.h"
#include "samplenorm/error.h"
#include "samplenorm/memory.h"

namespace samplenorm::cli {
namespace {

/// For comparisons the environment can have less: SAMPLENORM_ALLOCATOR=malloc leaves libtorch's allocator as it is, and
/// =system all, so that another malloc can be preloaded.
Pages pages_wished() {
  const char* wish = std::getenv("SAMPLENORM_ALLOCATOR");
  const std::string_view word = wish != nullptr ? wish : "";
  return word == "system" ? Pages::kReturned : word == "malloc" ? Pages::kKeptByMalloc : Pages::kKept;
}

std::string join(int count, char** words) {
  std::string line;
  for (int i = 0; i < count; ++i) line += (i == 0 ? "" : " ") + std::string(words[i]);
  return line;
}

int run(int argc, char** argv) {
  CLI::App program("Batch normalization from a few percent of the data.", "samplenorm");
  program.set_version_flag("--version", "samplenorm " SAMPLENORM_VERSION " (libtorch " TORCH_VERSION ")");
  program.require_subcommand(1);
  program.footer("Example:\n  samplenorm demo --norm BN,LS-1/64");
  const std::string command = join(argc, argv);
  add_demo(program, command);
  add_train(program, command);
  add_eval(program, command);
  CLI::App* bench = program.add_subcommand("bench", "Time the normalizations against their rivals");
  bench->require_subcommand(1);
  bench->footer("Example:\n  samplenorm bench layer --quick");
  add_bench_layer(*bench, command);
  add_bench_step(*bench, command);
  add_bench_processes(*bench, command);
  add_data(program, command);
  add_profile(program, command);
  add_study(program, command);
  add_report(program);
  add_methods(program);
  add_undisturbed(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();  // of a command that it ran
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
  if (std::fflush(stdout) != 0) throw Error(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  return 0;
}

}  // namespace
}  // namespace samplenorm::cli

int main(int argc, char** argv) {
  using samplenorm::cli::fail;
  samplenorm::keep_pages(samplenorm::cli::pages_wished());
  try {
    return samplenorm::cli::run(argc, argv);
  } catch (const samplenorm::cli::Stopped& stopped) {
    return samplenorm::cli::stop(stopped.what(), stopped.status());
  } catch (const c10::Error& error) {
    return fail(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return fail("out of memory");
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
